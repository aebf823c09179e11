package devices

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestUnmanagedProcesses(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-card-that-somebody-unknown-uses-is-not-offered",
			Requirement: "a process outside of all pods has a context on a card: nobody new gets it, who has something of it " +
				"goes on, and it is offered again when that has ended",
			Run: occupied})
}

// startUnmanaged starts a program on the first simulated card that is in no tenant.
func startUnmanaged(env *harness.Env, build string) (*exec.Cmd, error) {
	program := exec.Command(filepath.Join(build, "tests", "share_probe"), "contend", "1000000")
	program.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "simgpu"),
		"SIMGPU_PROFILE="+strings.TrimPrefix(harness.SimulatedDevices, "sim-"), "SIMGPU_DIR="+env.Path("divvy",
			harness.SimulatedDevices, "card"))
	return program, program.Start()
}

func occupied(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	node, err := env.KubeletNode(env.Ctx, core.NodeReady)
	if err != nil {
		return err
	}
	cards, err := harness.RegisteredDevices(node)
	if err != nil {
		return err
	}
	// The control: before, it is offered.
	there := harness.ShareOf("there", cards[0].ID, 2000)
	there.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(there); err != nil {
		return err
	}
	if err := env.WaitRunning("there"); err != nil {
		return err
	}
	unmanaged, err := startUnmanaged(env, record.Build)
	if err != nil {
		return err
	}
	ended := false
	end := func() error {
		if ended {
			return nil
		}
		ended = true
		err := unmanaged.Process.Kill()
		_ = unmanaged.Wait()
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	begun := time.Now()
	if err := env.WaitHealthyDevices(len(cards) - 1); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("not offered after %.1f s", time.Since(begun).Seconds())
	late := harness.ShareOf("late", cards[0].ID, 2000)
	late.Spec.Containers[0].Args = []string{"stay"}
	if _, err := env.Create(late); err != nil {
		return err
	}
	if _, err := env.WaitRefused("late"); err != nil {
		return err
	}
	if err := env.StillRunning("there"); err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	return errors.Join(env.WaitHealthyDevices(len(cards)), env.WaitRunning("late"))
}
