package isolation

import (
	"errors"
	"fmt"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestThrottling(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-cheater-is-throttled",
			Requirement: "a pod that also goes around Divvy keeps its time where the node is only to report; where it is to throttle " +
				"it has about 1 %, node and pod say why, and it has its time again when that ends; who uses what it was " +
				"given is not touched",
			Run: cheaterThrottled})
}

func cheaterThrottled(env *harness.Env) (err error) {
	record, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	// As it is unless it is told otherwise: an agent that only reports.
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	honest := harness.ShareOf("honest", cards[1], 3000)
	neighbour, err := env.StartWorker(honest, "busy")
	if err == nil {
		err = neighbour.Must("open", 1)
	}
	if err != nil {
		return err
	}
	workers, err := env.StartHalfManagedPod(cards[0], record.Build)
	if err != nil {
		return err
	}
	works, cheats := workers[0], workers[1]
	if err := works.Must("open", 1); err != nil {
		return err
	}
	if err := env.ComputesWithin(works, "honest", harness.UnthrottledShare, 1); err != nil {
		return err
	}
	if err := isReported(env, works, cheats); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := env.RestartAgent(record.Build, "--on-bypass", "throttle"); err != nil {
		return err
	}
	if err := env.WaitBypassReported(); err != nil {
		return err
	}
	// It is throttled, and not stopped.
	if err := env.ComputesWithin(works, "throttled", 0.001, harness.ThrottledShare); err != nil {
		return err
	}
	if err := env.ComputesWithin(neighbour, "its neighbour", harness.UnthrottledShare, 1); err != nil {
		return err
	}
	if err := cheatingEnds(env, works, cheats); err != nil {
		return err
	}
	if condition, err := env.BypassCondition("honest"); err != nil || condition.Type != "" {
		return fmt.Errorf("who uses what it was given is told %+v, %w", condition, err)
	}
	return errors.Join(env.WaitEvents("two-faced", "Bypass"), env.StillRunning("honest"), neighbour.Exit(env))
}

// isReported: it goes around Divvy, is told so, and keeps its time.
func isReported(env *harness.Env, works, cheats *harness.Worker) error {
	if err := cheats.Must("open", 1); err != nil {
		return err
	}
	if err := env.WaitBypassReported(); err != nil {
		return err
	}
	return env.ComputesWithin(works, "reported", harness.UnthrottledShare, 1)
}

// cheatingEnds: its other program ends, and only that.
func cheatingEnds(env *harness.Env, works, cheats *harness.Worker) error {
	if err := errors.Join(cheats.Send("exit"), cheats.Conn.Close()); err != nil {
		return err
	}
	if err := env.WaitMetric("divvy_tenant_bypass", "two-faced", "} 0"); err != nil {
		return err
	}
	if err := env.WaitBypassOver("two-faced"); err != nil {
		return err
	}
	if err := env.ComputesWithin(works, "afterwards", harness.UnthrottledShare, 1); err != nil {
		return err
	}
	return works.Exit(env)
}
