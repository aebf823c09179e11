package deviceplugin

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestAgentShutdown(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-who-comes-while-the-agent-ends-waits",
			Requirement: "an agent that ends, as in a rollout, has its node say so: who comes then waits, and runs when the next " +
				"one is there; after one that was killed the kubelet turns the same pod away for good",
			Run: waitsForNextAgent},
		checks.Check{Name: "kubelet-who-ends-while-there-is-no-agent-is-missed",
			Requirement: "a pod that ends, and is gone, while no agent is there: the next one gives its room, and its units, to " +
				"somebody else, and who stayed keeps what he has",
			Run: endsWithoutAgent})
}

// wholeOf asks for all of that card.
func wholeOf(name, uuid string) *core.Pod {
	return harness.IdlePod(harness.WithAnnotations(harness.ProbePod(name, harness.Limits{"nvidia.com/gpu": "1"}),
		"use.divvy.dev/uuid", uuid))
}

func endsWithoutAgent(env *harness.Env) (err error) {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	for at, name := range []string{"ends", "stays"} {
		if _, err := env.Create(wholeOf(name, uuids[at])); err != nil {
			return err
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
	}
	one, known := env.Processes.Find(harness.AgentProcess)
	if !known {
		return errors.New("there is no agent")
	}
	defer func() { err = errors.Join(err, agentIsThere(env, record.Build)) }()
	// Nothing is said to anybody any more.
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := errors.Join(one.End(harness.StopBound), env.Delete("ends")); err != nil {
		return err
	}
	if err := env.WaitFor("it is gone", func() error {
		if found, err := env.Get("ends"); err == nil {
			return fmt.Errorf("it is %s", found.Status.Phase)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	for at, name := range []string{"comes", "waits"} {
		if _, err := env.Create(wholeOf(name, uuids[at])); err != nil {
			return err
		}
	}
	if err := env.WaitRunning("comes"); err != nil {
		return err
	}
	if _, err := env.WaitRefused("waits"); err != nil {
		return err
	}
	err = env.WaitFor("the agent has those who are there", func() error {
		for name, there := range map[string]bool{"ends": false, "stays": true, "comes": true} {
			found, err := env.Metrics("divvy_tenant_info", name)
			if err != nil || (len(found) > 0) != there {
				return errors.Join(err, fmt.Errorf("of %s there is %v", name, found))
			}
		}
		return nil
	})
	return errors.Join(err, env.StillRunning("stays"))
}

func waitsForNextAgent(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agentIsThere(env, record.Build)) }()
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(0); err != nil {
		return err
	}
	if _, err := env.Create(harness.ProbePod("waits", harness.OneShare("2000", "10"))); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("waits", "devices out of service"); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	said, err := env.WaitResult("waits", 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err == nil {
		err = env.WaitHealthyDevices(4)
	}
	if err != nil {
		return err
	}
	return turnedAway(env)
}

// turnedAway kills the agent, of which nobody is told then, and sees that the kubelet turns away who comes. Kubelets
// count in their nodes every 10 s: from then on the scheduler sends nobody there, and it is tried again with a new
// agent.
func turnedAway(env *harness.Env) error {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	const tries = 3
	for at := range tries {
		if err := env.KillProcess(harness.AgentProcess); err != nil {
			return err
		}
		name := fmt.Sprintf("turned-away-%d", at)
		if _, err := env.Create(harness.ProbePod(name, harness.OneShare("2000", "10"))); err != nil {
			return err
		}
		if sent, err := sentAndTurnedAway(env, name); err != nil || sent {
			return err
		}
		if err := errors.Join(env.Delete(name), env.RestartAgent(record.Build), env.WaitHealthyDevices(4),
			countsSome(env)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the scheduler sent nobody to a node whose agent was killed, %d times", tries)
}

// countsSome: the kubelet has said in its node that there are units.
func countsSome(env *harness.Env) error {
	return env.WaitFor("the kubelet counts units", func() error {
		if env.HasDeviceIDs(0) == nil {
			return errors.New("there are none")
		}
		return nil
	})
}

// sentAndTurnedAway: whether it was sent to the node; the kubelet turned it away then.
func sentAndTurnedAway(env *harness.Env, name string) (sent bool, err error) {
	err = env.WaitFor("the kubelet turns it away", func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		if sent = p.Spec.NodeName != ""; !sent && harness.UnschedulableMessage(p) != "" {
			return nil
		}
		if p.Status.Phase != core.PodFailed || p.Status.Reason != tooEarly {
			return fmt.Errorf("it is %s %s on %q: %s", p.Status.Phase, p.Status.Reason, p.Spec.NodeName,
				harness.UnschedulableMessage(p))
		}
		return nil
	})
	return sent, err
}
