package migration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestNvidiaPlugin(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-pods-of-nvidias-plugin-keep-their-cards",
			Requirement: "NVIDIA's own device plugin is replaced by Divvy's agent, and that by it again, while pods of " +
				"both run: nothing starts again, a card that a pod of NVIDIA's has is given to nobody until " +
				"that pod ends",
			Run: migratedFromNvidia})
}

// nvidiaServes runs NVIDIA's plugin on the simulated cards, and waits until the kubelet counts them.
func nvidiaServes(env *harness.Env, build string) error {
	err := env.Processes.Start(harness.NvidiaProcess, "/usr/bin/env", "LD_LIBRARY_PATH="+filepath.Join(build, "simgpu"),
		"SIMGPU_PROFILE="+strings.TrimPrefix(harness.SimulatedDevices, "sim-"), "SIMGPU_DIR="+env.Path("divvy",
			harness.SimulatedDevices, "card"),
		env.Nvidia, "--fail-on-init-error=true")
	if err != nil {
		return err
	}
	return env.WaitFor("the kubelet counts NVIDIA's cards", func() error {
		node, err := env.KubeletNode(env.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		if count := node.Status.Allocatable["nvidia.com/gpu"]; count.Value() != 4 {
			return fmt.Errorf("it has %s; %s", count.String(), env.Processes.Tail(harness.NvidiaProcess))
		}
		return nil
	})
}

// nvidiaPod has a whole card of NVIDIA's plugin, as it was before Divvy came: nobody of ours saw it.
func nvidiaPod(env *harness.Env, name string) error {
	p := harness.ProbePod(name, harness.Limits{"nvidia.com/gpu": "1"})
	p.Labels = map[string]string{"hami.io/webhook": "ignore"}
	p.Spec.SchedulerName = "default-scheduler"
	c := &p.Spec.Containers[0]
	c.Image, c.Command = harness.PauseImage, []string{"/pause"}
	// API servers hear of a policy that is off a moment later.
	err := env.WaitFor(name+" is let in", func() error {
		_, err := env.Create(p)
		return err
	})
	if err != nil {
		return err
	}
	return env.WaitRunning(name)
}

func migratedFromNvidia(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	if env.Nvidia == "" {
		return harness.Skip{Cause: errors.New("NVIDIA's device plugin is not built here (--nvidia)")}
	}
	if _, err := os.Stat(env.Nvidia); err != nil {
		return err
	}
	record, err := env.StopAgent()
	if err != nil {
		return err
	}
	// However it ends, whoever comes next finds Divvy's agent.
	defer func() {
		err = errors.Join(err, env.StopProcess(harness.NvidiaProcess))
		if one, known := env.Processes.Find(harness.AgentProcess); !known || !one.Alive() {
			err = errors.Join(err, env.RestartAgent(record.Build))
		}
	}()
	if err := nvidiaServes(env, record.Build); err != nil {
		return err
	}
	// As it was before our policies were there.
	if err := env.WithoutPolicies(func() error { return nvidiaPod(env, "theirs") }); err != nil {
		return err
	}
	if err := env.StopProcess(harness.NvidiaProcess); err != nil {
		return err
	}
	// There: three cards are left, and three pods that want whole ones have room.
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(3); err != nil {
		return err
	}
	whole := harness.Limits{"nvidia.com/gpu": "1"}
	for at := range 4 {
		p := harness.ProbePod(fmt.Sprintf("ours-%d", at), whole)
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := env.Create(p); err != nil {
			return err
		}
		if at < 3 {
			if err := env.WaitRunning(p.Name); err != nil {
				return err
			}
		}
	}
	if _, err := env.WaitRefused("ours-3"); err != nil {
		return err
	}
	if err := env.StillRunning("theirs"); err != nil {
		return err
	}
	if err := env.Delete("theirs"); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(4); err != nil {
		return err
	}
	if err := env.WaitRunning("ours-3"); err != nil {
		return err
	}
	// And back: what Divvy gave stays given.
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	if err := nvidiaServes(env, record.Build); err != nil {
		return err
	}
	for at := range 4 {
		if err := env.StillRunning(fmt.Sprintf("ours-%d", at)); err != nil {
			return err
		}
	}
	if err := env.StopProcess(harness.NvidiaProcess); err != nil {
		return err
	}
	env.Note = "NVIDIA's plugin, " + nvidiaVersion()
	return env.RestartAgent(record.Build)
}

// nvidiaVersion is what tests/third_party/nvidia names.
func nvidiaVersion() string {
	text, err := os.ReadFile("tests/third_party/nvidia/go.mod")
	if err != nil {
		return err.Error()
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "github.com/NVIDIA/k8s-device-plugin "); found {
			rest, _, _ = strings.Cut(rest, " ")
			return rest
		}
	}
	return "of no version that is known"
}
