package main

import (
	"errors"
	"fmt"
	"strings"
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
	for name, there := range map[string]bool{"ends": false, "stays": true, "comes": true} {
		found, err := w.samples("divvy_tenant_info", name)
		if err != nil || (len(found) > 0) != there {
			return errors.Join(err, fmt.Errorf("of %s there is %v", name, found))
		}
	}
	return w.stillWorks("stays")
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
	why, err := w.refused("waits")
	if err == nil && !strings.Contains(why, "devices out of service") {
		err = fmt.Errorf("it waits for: %s", why)
	}
	if err != nil {
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

// turnedAway kills the agent, of which nobody is told then, and sees that the kubelet turns away who comes.
func (w *world) turnedAway() error {
	if err := w.killed(agentProcess); err != nil {
		return err
	}
	if _, err := w.create(probe("turned-away", one("2000", "10"))); err != nil {
		return err
	}
	return w.until("the kubelet turns it away", func() error {
		p, err := w.get("turned-away")
		if err == nil && (p.Status.Phase != core.PodFailed || p.Status.Reason != tooEarly) {
			err = fmt.Errorf("it is %s %s on %q: %s", p.Status.Phase, p.Status.Reason, p.Spec.NodeName, unscheduled(p))
		}
		return err
	})
}
