package deviceplugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestCdi(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-cdi-where-the-runtime-reads-it",
			Requirement: "a runtime that reads CDI specs is given those alone, what is written goes with its container, and " +
				"it is seen that it was read; to one that does not everything is given by mounts, and one that " +
				"was told to and does not is noticed with the first container: no other one is made",
			Run: injectedAsTheRuntimeReads})
}

func specs(env *harness.Env) ([]string, error) {
	return filepath.Glob(filepath.Join(env.CdiDir(), "divvy.dev-pod-*.json"))
}

func injectedAsTheRuntimeReads(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	// Another agent looks anew whether what it writes is read.
	mark := env.AgentLogSize()
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	if record.Runtime == "" {
		return notReading(env, record.Build, mark)
	}
	return reading(env, record.Build, mark)
}

func reading(env *harness.Env, build string, mark int) error {
	env.Note = "given by CDI"
	if err := env.WaitAgentLog("containers get their share by CDI", mark); err != nil {
		return err
	}
	stays := harness.ProbePod("stays", harness.OneShare("3000", "10"))
	stays.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(stays); err != nil {
		return err
	}
	if err := env.WaitRunning("stays"); err != nil {
		return err
	}
	if err := env.CheckLimited("limited"); err != nil {
		return err
	}
	if named, err := env.InjectedByCDI("stays"); err != nil || !named {
		return fmt.Errorf("it was not given by CDI, %w", err)
	}
	if err := env.WaitAgentLog("the runtime read the CDI spec of", mark); err != nil {
		return err
	}
	// The control: the same runtime, and mounts.
	if err := env.RestartAgent(build, "--injection", "mounts"); err != nil {
		return err
	}
	if err := env.CheckLimited("mounted"); err != nil {
		return err
	}
	if named, err := env.InjectedByCDI("mounted"); err != nil || named {
		return fmt.Errorf("it was not given by mounts, %w", err)
	}
	if err := env.StillRunning("stays"); err != nil {
		return err
	}
	if there, err := specs(env); err != nil || len(there) == 0 {
		return fmt.Errorf("no spec is there while one works, %w", err)
	}
	for _, name := range []string{"stays", "limited", "mounted"} {
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	return env.WaitFor("what was written is gone", func() error {
		left, err := specs(env)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v", left)
		}
		return err
	})
}

func notReading(env *harness.Env, build string, mark int) error {
	if err := env.WaitAgentLog(`containers get their share by mounts reason="containerd://1.6`, mark); err != nil {
		return err
	}
	if err := env.CheckLimited("limited"); err != nil {
		return err
	}
	if named, err := env.InjectedByCDI("limited"); err != nil || named {
		return fmt.Errorf("it was not given by mounts, %w", err)
	}
	mark = env.AgentLogSize()
	if err := env.RestartAgent(build, "--injection", "cdi"); err != nil {
		return err
	}
	// It is made, and has nothing: not even a driver.
	if _, err := env.Create(harness.ProbePod("without", harness.OneShare("2000", "10"))); err != nil {
		return err
	}
	begun := time.Now()
	if err := env.WaitAgentLog("ignores CDI, and passed nothing of its share", mark); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("given by mounts; that CDI is ignored is noticed after %.1f s", time.Since(begun).Seconds())
	if _, err := env.Create(harness.ProbePod("next", harness.OneShare("2000", "10"))); err != nil {
		return err
	}
	return env.WaitFor("no other one is made", func() error {
		p, err := env.Get("next")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "ignores CDI") {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", p.Status.Phase, p.Status.Message)
	})
}
