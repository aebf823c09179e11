package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-card-with-memory-errors-is-given-again-once-it-is-quiet",
			"double-bit ECC errors under a pod: scheduler and kubelet offer the card to nobody within 10 s, whatever agent " +
				"comes next; who is there and who is elsewhere goes on; five minutes after the last of them it is offered " +
				"again, and who waited for it gets it; an Xid that programs cause takes no card away",
			memoryErrors})
}

// Cards of their own: what their clock is told stands in their files.
const quickCards = "sim-a100x2"

// Simulated cards' time is so much faster, and so are the minutes that an agent waits for them; agents inherit it.
const (
	toldSpeed  = "SIMGPU_TIME_SCALE"
	quickSpeed = 15
	quickQuiet = 5 * time.Minute / quickSpeed
)

// onQuickCards is the node with two of them.
func (w *world) onQuickCards(run func(uuids []string) error) (err error) {
	record, _, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	// An agent that was begun before it came to the cards is as quick.
	defer func() {
		if told := os.Getenv(toldSpeed); told != "" {
			err = errors.Join(err, os.Unsetenv(toldSpeed), w.agentBegins(record.Build))
		}
	}()
	if err := os.Setenv(toldSpeed, fmt.Sprint(quickSpeed)); err != nil {
		return err
	}
	return w.onCards(quickCards, nil, func(uuids []string) error {
		// The agent that comes after this one is of the world's speed.
		return errors.Join(run(uuids), os.Unsetenv(toldSpeed))
	})
}

func memoryErrors(w *world) error {
	return w.onQuickCards(func(uuids []string) error {
		if err := w.programsFault(uuids[1]); err != nil {
			return fmt.Errorf("control: %w", err)
		}
		return w.faultsAndRecovers(uuids[0], uuids[1])
	})
}

// strikes makes the pod that suffers this, and returns when it has ended.
func (w *world) strikes(p *core.Pod, fault string) error {
	c := &p.Spec.Containers[0]
	c.Env = append(c.Env, core.EnvVar{Name: "SIMGPU_FAULTS", Value: fault})
	if _, err := w.create(p); err != nil {
		return err
	}
	return w.until(p.Name+" has struck", func() error {
		now, err := w.get(p.Name)
		if err == nil && now.Status.Phase != core.PodFailed && now.Status.Phase != core.PodSucceeded {
			err = fmt.Errorf("it is %s: %s", now.Status.Phase, unscheduled(now))
		}
		return err
	})
}

// programsFault: the agent has heard of it, and both cards are offered.
func (w *world) programsFault(uuid string) error {
	if err := w.strikes(onCardOf("faulty-program", uuid), "xid=13"); err != nil {
		return err
	}
	err := w.until("the agent has heard of Xid 13", func() error {
		return w.heardOf(uuid, `xid="13"`)
	})
	if err != nil {
		return err
	}
	if count, err := w.healthyCards(); err != nil || count != 2 {
		return errors.Join(err, fmt.Errorf("%d cards are offered", count))
	}
	return nil
}

func (w *world) heardOf(uuid, xid string) error {
	found, err := scraped("divvy_card_xid_errors_total")
	if err != nil {
		return err
	}
	for _, line := range found {
		if strings.Contains(line, uuid) && strings.Contains(line, xid) && !strings.HasSuffix(line, " 0") {
			return nil
		}
	}
	return fmt.Errorf("%q", found)
}

// onlyOffered: just this card, by the node's registration, and by what the kubelet counts.
func (w *world) onlyOffered(uuid string, units int64) error {
	err := w.until("the scheduler is told", func() error {
		node, err := w.kubeletNode(w.ctx, core.NodeReady)
		if err != nil {
			return err
		}
		all, err := registered(node)
		if err != nil {
			return err
		}
		if left := healthy(all); len(left) != 1 || left[0].ID != uuid {
			return fmt.Errorf("healthy are %v", left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.until("the kubelet has said so", func() error { return w.unitsAre(units) })
}

func (w *world) unitsAre(units int64) error {
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	if now := node.Status.Allocatable["nvidia.com/gpu"]; now.Value() != units {
		return fmt.Errorf("%s units are allocatable", now.String())
	}
	return nil
}

func (w *world) faultsAndRecovers(bad, good string) error {
	_, units, err := w.cardsNow()
	if err != nil {
		return err
	}
	for name, uuid := range map[string]string{"there": bad, "elsewhere": good} {
		p := onCardOf(name, uuid)
		p.Spec.Containers[0].Args = []string{"work"}
		if _, err := w.create(p); err != nil {
			return err
		}
		if err := w.runs(name); err != nil {
			return err
		}
	}
	if err := w.strikes(onCardOf("striker", bad), "ecc=2"); err != nil {
		return err
	}
	struck := time.Now()
	if err := w.offers(1); err != nil {
		return err
	}
	known := time.Since(struck)
	// The driver tells of it once: the next agent has it from this one.
	if err := errors.Join(w.onlyOffered(good, units/2), w.quickSuccessor(), w.onlyOffered(good, units/2)); err != nil {
		return err
	}
	if err := w.outOfService("late", bad); err != nil {
		return err
	}
	quiet, err := w.quietAgain(bad)
	if err != nil {
		return err
	}
	err = w.until("the kubelet counts it again", func() error { return w.unitsAre(units) })
	for _, name := range []string{"there", "elsewhere"} {
		err = errors.Join(err, w.stillWorks(name))
	}
	if err == nil && known > healthBound {
		err = fmt.Errorf("it took %v until it was known", known)
	}
	w.note = fmt.Sprintf("known after %.1f s, offered again %.1f s after the last one was asked for (five minutes are %v here)",
		known.Seconds(), quiet.Seconds(), quickQuiet)
	return err
}

// quickSuccessor: the agent ends, and its node says that nothing can be had, until another one is there.
func (w *world) quickSuccessor() error {
	record, err := w.agentEnds()
	if err != nil {
		return err
	}
	return w.agentBeginsOn(quickCards, record.Build)
}

// outOfService: who asks for that card waits, and is told why.
func (w *world) outOfService(name, uuid string) error {
	if _, err := w.create(onCardOf(name, uuid)); err != nil {
		return err
	}
	if why, err := w.refused(name); err != nil || !strings.Contains(why, "out of service") {
		return errors.Join(err, fmt.Errorf("who asks for that card is told %q", why))
	}
	return nil
}

// getsIt: who waited has that card now.
func (w *world) getsIt(name, uuid string) error {
	said, err := w.ended(name, 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	if on, err := w.onCard(name); err != nil || on != uuid {
		return errors.Join(err, fmt.Errorf("who waited is on %s", on))
	}
	return nil
}

// quietAgain: another error, of a program that Divvy does not know, begins the wait anew; who waits gets the card then,
// and how long that took is what it returns. The card is out of service while it comes, but where the machine was slow.
func (w *world) quietAgain(bad string) (time.Duration, error) {
	record, err := w.readNodeRecord()
	if err != nil {
		return 0, err
	}
	again := time.Now()
	if err := w.strikes(w.bareOn(quickCards, "strikes-again", record.Build), "ecc=1"); err != nil {
		return 0, err
	}
	// This agent has not heard of the first ones from the driver.
	err = w.until("the agent has heard of another error", func() error {
		return w.heardOf(bad, `xid="48"`)
	})
	if err == nil {
		err = errors.Join(w.offers(1), w.offers(2))
	}
	if err != nil {
		return 0, err
	}
	quiet := time.Since(again)
	if quiet < quickQuiet {
		return 0, fmt.Errorf("it was offered again %v after an error", quiet)
	}
	return quiet, w.getsIt("late", bad)
}
