package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-cheater-is-evicted",
			"a pod that uses a card which it was not given is found within 10 s by what the driver says, and told; " +
				"where the node is only to report it stays, where it is to evict it goes after a notice; who uses " +
				"what he was given is not touched",
			cheaterEvicted})
}

const (
	bypassBound  = 10 * time.Second
	bypassNotice = 3 * time.Second
)

func (w *world) bypassCondition(name string) (core.PodCondition, error) {
	p, err := w.get(name)
	if err != nil {
		return core.PodCondition{}, err
	}
	for _, one := range p.Status.Conditions {
		if one.Type == "divvy.dev/Bypass" {
			return one, nil
		}
	}
	return core.PodCondition{}, nil
}

func (w *world) toldOfBypass(name, words string) error {
	return w.until(name+" is told", func() error {
		condition, err := w.bypassCondition(name)
		if err == nil && (condition.Status != core.ConditionTrue || !strings.Contains(condition.Message, words)) {
			err = fmt.Errorf("its condition is %+v; %s", condition, w.processes.tail(agentProcess))
		}
		return err
	})
}

func cheaterEvicted(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	return w.with([]string{"--bypass-notice", bypassNotice.String()}, func() error {
		return w.cheats(record.Build)
	})
}

func (w *world) cheats(build string) error {
	honest := probe("honest", one("3000", "10"))
	honest.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(honest); err != nil {
		return err
	}
	if err := w.runs("honest"); err != nil {
		return err
	}
	if err := w.cheatIsFound(build); err != nil {
		return err
	}
	// The control: a node that only reports evicts nobody, whatever the scheduler's notice is.
	if err := w.staysFor("cheat", 2*bypassNotice); err != nil {
		return err
	}
	heard, err := w.listens()
	if err != nil {
		return err
	}
	defer heard.end()
	if err := w.agentBegins(build, "--on-bypass", "evict"); err != nil {
		return err
	}
	// It is gone some seconds later.
	if err := heard.told(w, "cheat", "divvy.dev/Bypass", "it is evicted at "); err != nil {
		return err
	}
	err = w.until("it is evicted", func() error {
		p, err := w.get("cheat")
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && p.DeletionTimestamp == nil {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
	if err != nil {
		return err
	}
	if condition, err := w.bypassCondition("honest"); err != nil || condition.Type != "" {
		return fmt.Errorf("who uses what it was given is told %+v, %w", condition, err)
	}
	return errors.Join(w.stillWorks("honest"), w.saysOf("cheat", "Bypass", "EvictedBypass"))
}

// cheatIsFound makes a pod that uses a card which it was not given, and waits until it is told.
func (w *world) cheatIsFound(build string) error {
	// The driver's own files, mounted by hand: nobody of ours is in it.
	cheat := w.bare("cheat", build)
	cheat.Spec.Containers[0].Args = []string{"contend", "1000000"}
	if _, err := w.create(cheat); err != nil {
		return err
	}
	if err := w.runs("cheat"); err != nil {
		return err
	}
	clock := watchStalls()
	defer clock.end()
	if err := w.toldOfBypass("cheat", "of which it was given nothing"); err != nil {
		return err
	}
	took := clock.passed()
	w.note = fmt.Sprintf("found and told after %.1f s", took.Seconds())
	if took > bypassBound {
		return fmt.Errorf("that took %v", took)
	}
	return nil
}

// staysFor: for so long nobody ends it.
func (w *world) staysFor(name string, long time.Duration) error {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		p, err := w.get(name)
		if err != nil {
			return err
		}
		if p.DeletionTimestamp != nil {
			return errors.New(name + " is evicted by a node that only reports")
		}
	}
	return nil
}
