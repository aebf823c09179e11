package main

import (
	"errors"
	"fmt"
	"syscall"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-who-comes-while-the-agent-ends-waits",
			"an agent that ends, as in a rollout, has its node say so: who comes then waits, and runs when the next " +
				"one is there; after one that was killed the kubelet turns the same pod away for good",
			waitsForNextAgent},
		check{"kubelet-who-ends-while-there-is-no-agent-is-missed",
			"a pod that ends, and is gone, while no agent is there: the next one gives its room, and its units, to " +
				"somebody else, and who stayed keeps what he has",
			endsWithoutAgent})
}

// wholeOf asks for all of that card.
func wholeOf(name, uuid string) *core.Pod {
	return holding(annotated(probe(name, asks{"nvidia.com/gpu": "1"}), "use.divvy.dev/uuid", uuid))
}

func endsWithoutAgent(w *world) (err error) {
	record, uuids, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	for at, name := range []string{"ends", "stays"} {
		if _, err := w.create(wholeOf(name, uuids[at])); err != nil {
			return err
		}
		if err := w.runs(name); err != nil {
			return err
		}
	}
	one, known := w.processes.find(agentProcess)
	if !known {
		return errors.New("there is no agent")
	}
	defer func() { err = errors.Join(err, w.agentIsThere(record.Build)) }()
	// Nothing is said to anybody any more.
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := errors.Join(one.end(stopBound), w.remove("ends")); err != nil {
		return err
	}
	if err := w.until("it is gone", func() error {
		if found, err := w.get("ends"); err == nil {
			return fmt.Errorf("it is %s", found.Status.Phase)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	for at, name := range []string{"comes", "waits"} {
		if _, err := w.create(wholeOf(name, uuids[at])); err != nil {
			return err
		}
	}
	if err := w.runs("comes"); err != nil {
		return err
	}
	if _, err := w.refused("waits"); err != nil {
		return err
	}
	err = w.until("the agent has those who are there", func() error {
		for name, there := range map[string]bool{"ends": false, "stays": true, "comes": true} {
			found, err := w.samples("divvy_tenant_info", name)
			if err != nil || (len(found) > 0) != there {
				return errors.Join(err, fmt.Errorf("of %s there is %v", name, found))
			}
		}
		return nil
	})
	return errors.Join(err, w.stillWorks("stays"))
}

func waitsForNextAgent(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentIsThere(record.Build)) }()
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	if err := w.offers(0); err != nil {
		return err
	}
	if _, err := w.create(probe("waits", one("2000", "10"))); err != nil {
		return err
	}
	if _, err := w.refusedFor("waits", "devices out of service"); err != nil {
		return err
	}
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	said, err := w.ended("waits", 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err == nil {
		err = w.offers(4)
	}
	if err != nil {
		return err
	}
	return w.turnedAway()
}

// turnedAway kills the agent, of which nobody is told then, and sees that the kubelet turns away who comes. Kubelets
// count in their nodes every 10 s: from then on the scheduler sends nobody there, and it is tried again with a new agent.
func (w *world) turnedAway() error {
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	const tries = 3
	for at := range tries {
		if err := w.killed(agentProcess); err != nil {
			return err
		}
		name := fmt.Sprintf("turned-away-%d", at)
		if _, err := w.create(probe(name, one("2000", "10"))); err != nil {
			return err
		}
		if sent, err := w.sentAndTurnedAway(name); err != nil || sent {
			return err
		}
		if err := errors.Join(w.remove(name), w.agentBegins(record.Build), w.offers(4), w.countsSome()); err != nil {
			return err
		}
	}
	return fmt.Errorf("the scheduler sent nobody to a node whose agent was killed, %d times", tries)
}

// countsSome: the kubelet has said in its node that there are units.
func (w *world) countsSome() error {
	return w.until("the kubelet counts units", func() error {
		if w.unitsAre(0) == nil {
			return errors.New("there are none")
		}
		return nil
	})
}

// sentAndTurnedAway: whether it was sent to the node; the kubelet turned it away then.
func (w *world) sentAndTurnedAway(name string) (sent bool, err error) {
	err = w.until("the kubelet turns it away", func() error {
		p, err := w.get(name)
		if err != nil {
			return err
		}
		if sent = p.Spec.NodeName != ""; !sent && unscheduled(p) != "" {
			return nil
		}
		if p.Status.Phase != core.PodFailed || p.Status.Reason != tooEarly {
			return fmt.Errorf("it is %s %s on %q: %s", p.Status.Phase, p.Status.Reason, p.Spec.NodeName, unscheduled(p))
		}
		return nil
	})
	return sent, err
}
