package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-cheater-is-throttled",
			"a pod that also goes around Divvy keeps its time where the node is only to report; where it is to throttle " +
				"it has about 1 %, node and pod say why, and it has its time again when that ends; who uses what it was " +
				"given is not touched",
			cheaterThrottled})
}

// Of a card that it has to itself: not throttled, and throttled to 1 %.
const (
	mostOfCard    = 0.7
	littleOfCard  = 0.03
	cheatingPlace = "beside"
)

// twoFaced is a pod of two containers on that card: one works through Divvy, the other one has the driver's own
// files, mounted by hand. Both are its hands.
func (w *world) twoFaced(card, build string) ([]*hand, error) {
	p := shareOf("two-faced", card, 3000)
	cheat := w.bare("none", build)
	cheat.Spec.Containers[0].Name = cheatingPlace
	p.Spec.Volumes = cheat.Spec.Volumes
	p.Spec.Containers = append(p.Spec.Containers, cheat.Spec.Containers[0])
	return w.hands(p, "busy")
}

// timeOf is what part of the card's time it gets, for so long, by launching one kernel after the other.
func (w *world) timeOf(h *hand, long time.Duration) (float64, error) {
	begun := time.Now()
	if err := h.must("run", kernelMicros); err != nil {
		return 0, err
	}
	select {
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	case <-time.After(long):
	}
	launches, err := h.rest()
	passed := time.Since(begun)
	return float64(launches) * kernelMicros / float64(passed.Microseconds()), err
}

// hasTime: it gets no less and no more than these parts.
func (w *world) hasTime(h *hand, when string, least, most float64) error {
	return w.hasTimeFor(window, h, when, least, most)
}

// A window in which the machine stood still for a while says little of it: what holds does so in the next one.
func (w *world) hasTimeFor(long time.Duration, h *hand, when string, least, most float64) error {
	const tries = 3
	var parts []string
	for range tries {
		part, err := w.timeOf(h, long)
		if err != nil {
			return err
		}
		parts = append(parts, fmt.Sprintf("%.1f %%", 100*part))
		if part >= least && part <= most {
			w.note += fmt.Sprintf("%s %s; ", when, strings.Join(parts, ", "))
			return nil
		}
	}
	return fmt.Errorf("%s it has %s of the card", when, strings.Join(parts, ", "))
}

func cheaterThrottled(w *world) (err error) {
	record, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	// As it is unless it is told otherwise: an agent that only reports.
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	honest := shareOf("honest", cards[1], 3000)
	neighbour, err := w.hand(honest, "busy")
	if err == nil {
		err = neighbour.must("open", 1)
	}
	if err != nil {
		return err
	}
	hands, err := w.twoFaced(cards[0], record.Build)
	if err != nil {
		return err
	}
	works, cheats := hands[0], hands[1]
	if err := works.must("open", 1); err != nil {
		return err
	}
	if err := w.hasTime(works, "honest", mostOfCard, 1); err != nil {
		return err
	}
	if err := w.isReported(works, cheats); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.agentBegins(record.Build, "--on-bypass", "throttle"); err != nil {
		return err
	}
	if err := w.toldEverywhere(); err != nil {
		return err
	}
	// It is throttled, and not stopped.
	if err := w.hasTime(works, "throttled", 0.001, littleOfCard); err != nil {
		return err
	}
	if err := w.hasTime(neighbour, "its neighbour", mostOfCard, 1); err != nil {
		return err
	}
	if err := w.cheatingEnds(works, cheats); err != nil {
		return err
	}
	if condition, err := w.bypassCondition("honest"); err != nil || condition.Type != "" {
		return fmt.Errorf("who uses what it was given is told %+v, %w", condition, err)
	}
	return errors.Join(w.saysOf("two-faced", "Bypass"), w.stillWorks("honest"), neighbour.end(w))
}

// isReported: it goes around Divvy, is told so, and keeps its time.
func (w *world) isReported(works, cheats *hand) error {
	if err := cheats.must("open", 1); err != nil {
		return err
	}
	if err := w.toldEverywhere(); err != nil {
		return err
	}
	return w.hasTime(works, "reported", mostOfCard, 1)
}

// toldEverywhere: the pod by its condition, the node by name and UID of the pod, Prometheus by the tenant.
func (w *world) toldEverywhere() error {
	const words = "without Divvy's library"
	if err := w.toldOfBypass("two-faced", words); err != nil {
		return err
	}
	p, err := w.get("two-faced")
	if err != nil {
		return err
	}
	err = w.until("its node says so", func() error {
		text, _, err := w.nodeNote("divvy.dev/bypass")
		for _, word := range []string{string(p.UID), w.space, "two-faced", words} {
			if err == nil && !strings.Contains(text, word) {
				err = fmt.Errorf("it says %q", text)
			}
		}
		return err
	})
	return errors.Join(err, w.shows("divvy_tenant_bypass", "two-faced", "} 1"))
}

// toldItIsOver waits until the pod's condition says that it does not go around its limit any more.
func (w *world) toldItIsOver(pod string) error {
	return w.until("the pod is told that it is over", func() error {
		condition, err := w.bypassCondition(pod)
		if err == nil && condition.Status != core.ConditionFalse {
			err = fmt.Errorf("its condition is %+v", condition)
		}
		return err
	})
}

// cheatingEnds: its other program ends, and only that.
func (w *world) cheatingEnds(works, cheats *hand) error {
	if err := errors.Join(cheats.tell("exit"), cheats.conn.Close()); err != nil {
		return err
	}
	if err := w.shows("divvy_tenant_bypass", "two-faced", "} 0"); err != nil {
		return err
	}
	if err := w.toldItIsOver("two-faced"); err != nil {
		return err
	}
	if err := w.hasTime(works, "afterwards", mostOfCard, 1); err != nil {
		return err
	}
	return works.end(w)
}
