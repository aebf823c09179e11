package harness

import (
	"fmt"
	"syscall"
)

// The cluster of these checks: 3 nodes with 8 devices of 80 GiB and 10 slots each.
const (
	NodeCount       = 3
	DevicesPerNode  = 8
	SlotsPerDevice  = 10
	DeviceMemoryMiB = 80 << 10
)

func OneShare(memory, cores string) Limits {
	return Limits{"nvidia.com/gpu": "1", "nvidia.com/gpumem": memory, "nvidia.com/gpucores": cores}
}

func (env *Env) NoDeviceOverbooked() error {
	count, memory, err := env.Allocations()
	if err != nil {
		return err
	}
	for _, uuid := range sorted(count) {
		if count[uuid] > SlotsPerDevice || memory[uuid] > DeviceMemoryMiB {
			return fmt.Errorf("%s: %d shares, %d MiB", uuid, count[uuid], memory[uuid])
		}
	}
	return nil
}

// Kill ends a part at once, as a lost machine would.
func (env *Env) Kill(name string) error {
	found, known := env.Processes.Find(name)
	if !known {
		return fmt.Errorf("%s is not known", name)
	}
	if err := syscall.Kill(found.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	return env.WaitFor(name+" is gone", func() error {
		if found.Alive() {
			return fmt.Errorf("it is there")
		}
		return nil
	})
}

// WithOptions runs Divvy with more options, and then as it was.
func (env *Env) WithOptions(options []string, run func() error) (err error) {
	env.extenderOptions = options
	defer func() {
		env.extenderOptions = nil
		if again := env.Reinstall(); err == nil {
			err = again
		}
	}()
	if err = env.Reinstall(); err != nil {
		return err
	}
	return run()
}
