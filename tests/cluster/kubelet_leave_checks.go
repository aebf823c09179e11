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
			waitsForNextAgent})
}

func waitsForNextAgent(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() {
		if one, known := w.processes.find(agentProcess); !known || !one.alive() {
			err = errors.Join(err, w.agentBegins(record.Build))
		}
	}()
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

// turnedAway is the control: nobody said anything.
func (w *world) turnedAway() error {
	agent, known := w.processes.find(agentProcess)
	if !known {
		return errors.New("there is no agent")
	}
	if err := syscall.Kill(agent.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := agent.end(stopBound); err != nil {
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
