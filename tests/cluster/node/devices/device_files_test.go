package devices

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestDeviceFiles(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-real-cards-are-given-one-by-one",
			Requirement: "a driver that the agent takes for a real one, and a spec as NVIDIA's toolkit writes it, of files and nodes " +
				"that are made up: where the runtime reads CDI a container has its own card's device node and no " +
				"other card's, and its share; where the spec is of another driver, or the runtime reads none, mounts are what is given",
			Run: realCardsByCdi})
}

// A madeUpDriver stands for a real one: simulated libraries under another name, and a node for each card.
type madeUpDriver struct {
	dir  string // on the host
	card string // where the cards' state is
	spec string // the file
}

const driverInside = "/run/made-up"

func makeUpDriver(env *harness.Env, build string, cards int) (*madeUpDriver, error) {
	d := &madeUpDriver{env.Path("made-up"), env.Path("divvy", harness.SimulatedDevices, "card"),
		filepath.Join(env.CdiDir(), "nvidia.yaml")}
	// A try before this one may have left its own.
	if err := errors.Join(os.RemoveAll(d.dir), os.MkdirAll(d.dir, 0o755)); err != nil {
		return nil, err
	}
	for at := 0; at < cards; at++ {
		// What /dev/null is: nothing here reads it.
		if err := syscall.Mknod(d.node(at), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
			return nil, fmt.Errorf("%s: %w", d.node(at), err)
		}
	}
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1", "libsimgpu-rm.so"} {
		text, err := os.ReadFile(filepath.Join(build, "simgpu", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(d.dir, name), text, 0o755)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *madeUpDriver) node(card int) string {
	return filepath.Join(d.dir, fmt.Sprintf("nvidia%d", card))
}

func (d *madeUpDriver) environment() map[string]string {
	return map[string]string{"LD_LIBRARY_PATH": d.dir, "SIMGPU_PROFILE": strings.TrimPrefix(harness.SimulatedDevices,
		"sim-"),
		"SIMGPU_DIR": d.card}
}

// writeSpec says, in the form of NVIDIA's (kind nvidia.com/gpu), what containers need of these cards. Its
// libraries' files are called by their version, as a driver's are.
func (d *madeUpDriver) writeSpec(version string, cards int) error {
	type object = map[string]any
	var devices, mounts []object
	for at := 0; at < cards; at++ {
		devices = append(devices, object{"name": fmt.Sprint(at), "containerEdits": object{"deviceNodes": []object{
			{"path": fmt.Sprintf("/dev/nvidia%d", at), "hostPath": d.node(at)}}}})
	}
	for _, name := range []string{"libcuda.so", "libnvidia-ml.so", "libsimgpu-rm.so"} {
		soname := name
		if name != "libsimgpu-rm.so" {
			soname += ".1"
		}
		file := filepath.Join(d.dir, name+"."+version)
		if err := os.Link(filepath.Join(d.dir, soname), file); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		mounts = append(mounts, object{"hostPath": file, "containerPath": driverInside + "/" + soname,
			"options": []string{"ro", "nosuid", "nodev", "bind"}})
	}
	mounts = append(mounts, object{"hostPath": d.card, "containerPath": "/run/made-up-card", "options": []string{"rw",
		"bind"}})
	text, err := json.MarshalIndent(object{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices,
		"containerEdits": object{"mounts": mounts, "env": []string{"LD_LIBRARY_PATH=" + driverInside,
			"SIMGPU_PROFILE=" + strings.TrimPrefix(harness.SimulatedDevices, "sim-"), "SIMGPU_DIR=/run/made-up-card"}}}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.spec, text, 0o644)
}

// nodesIn are the cards' device nodes that the pod's container has.
func nodesIn(env *harness.Env, name string) ([]string, error) {
	p, err := env.Get(name)
	if err != nil {
		return nil, err
	}
	groups, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range groups {
		text, _ := os.ReadFile(file)
		ofPod := strings.Contains(string(text), string(p.UID)) ||
			strings.Contains(string(text), strings.ReplaceAll(string(p.UID), "-", "_"))
		process := filepath.Dir(file)
		program, _ := os.Readlink(filepath.Join(process, "exe"))
		if !ofPod || filepath.Base(program) != "share_probe" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(process, "root", "dev", "nvidia*"))
		for at := range found {
			found[at] = filepath.Base(found[at])
		}
		return found, err
	}
	return nil, fmt.Errorf("no process of %s is there", name)
}

var versionThatRuns = regexp.MustCompile(`names no library of version ([0-9.]+), which runs`)

// runningVersion is what the agent says that it misses in a spec of another driver; "": it says nothing of it.
func runningVersion(env *harness.Env, mark int) string {
	text, _ := os.ReadFile(env.Processes.Log(harness.AgentProcess))
	if said := versionThatRuns.FindSubmatch(text[min(mark, len(text)):]); said != nil {
		return string(said[1])
	}
	return ""
}

func realCardsByCdi(env *harness.Env) (err error) {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	d, err := makeUpDriver(env, record.Build, len(uuids))
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, env.DeletePods(), os.RemoveAll(d.dir), os.RemoveAll(d.spec), env.RestartAgent(record.Build))
	}()
	defer withEnvironment(d.environment())()
	if err := d.writeSpec("1.2.3", len(uuids)); err != nil {
		return err
	}
	mark := env.AgentLogSize()
	if err := env.RestartAgentOn("gpu", record.Build); err != nil {
		return err
	}
	if err := env.WaitAgentLog("containers get their share by mounts", mark); err != nil {
		return err
	}
	if record.Runtime == "" {
		env.Note = "this runtime reads none: by mounts"
		return env.WaitAgentLog(`containers get their share by mounts reason="containerd://1.6`, mark)
	}
	// The control: with a driver's spec that does not run, nothing of it is given.
	version := runningVersion(env, mark)
	if version == "" {
		return fmt.Errorf("the agent goes by a spec of another driver: %s", env.Processes.Tail(harness.AgentProcess))
	}
	if err := d.writeSpec(version, len(uuids)); err != nil {
		return err
	}
	mark = env.AgentLogSize()
	if err := env.RestartAgentOn("gpu", record.Build); err != nil {
		return err
	}
	if err := env.WaitAgentLog("containers get their share by CDI", mark); err != nil {
		return err
	}
	return eachHasItsOwn(env, uuids)
}

// eachHasItsOwn: who works has one node, of his card, and his share.
func eachHasItsOwn(env *harness.Env, uuids []string) error {
	for at, uuid := range uuids {
		name := fmt.Sprintf("card-%d", at)
		p := harness.PodOnDevice(name, uuid)
		p.Spec.Containers[0].Args = []string{"work"}
		if _, err := env.Create(p); err != nil {
			return err
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
		// The kubelet may have it running before the runtime has become its program.
		err := env.WaitFor(name+" has its card's node", func() error {
			nodes, err := nodesIn(env, name)
			if wanted := []string{fmt.Sprintf("nvidia%d", at)}; err == nil && !slices.Equal(nodes, wanted) {
				err = fmt.Errorf("it has %v, and not %v", nodes, wanted)
			}
			return err
		})
		if err != nil {
			return err
		}
		if named, err := env.InjectedByCDI(name); err != nil || !named {
			return fmt.Errorf("%s was not given by CDI, %w", name, err)
		}
	}
	env.Note = fmt.Sprintf("%d pods, each with one card's node of %d", len(uuids), len(uuids))
	if err := env.CheckLimited("limited"); err != nil {
		return err
	}
	for at := range uuids {
		if err := env.StillRunning(fmt.Sprintf("card-%d", at)); err != nil {
			return err
		}
	}
	return nil
}

// withEnvironment sets variables of ours, which agents inherit; what it returns takes them back.
func withEnvironment(variables map[string]string) func() {
	before := map[string]string{}
	for name, value := range variables {
		before[name] = os.Getenv(name)
		_ = os.Setenv(name, value)
	}
	return func() {
		for name, value := range before {
			if value == "" {
				_ = os.Unsetenv(name)
			} else {
				_ = os.Setenv(name, value)
			}
		}
	}
}
