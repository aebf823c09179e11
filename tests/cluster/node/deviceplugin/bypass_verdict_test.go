package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-verdict-goes-with-its-pod",
			"who is throttled for going around Divvy stays so under the next agent, within 10 s, and is told once; the " +
				"next pod of that name, with the same units of the card, is not judged by it: it has its time and is told " +
				"nothing, until it does the same; what ended while no agent was there is over for the next one",
			verdictGoes})
}

const (
	// A verdict is over by itself after so long without its reason (src/agent/enforcement/limit_bypass.h): what comes later shows nothing.
	verdictLasts = 5 * time.Second
	// Of a throttled tenant's turns, one in a second, some are in it.
	aWhile = 3 * time.Second
)

// One unit for each card: the next pod there has the units of the one before.
var throttles = append([]string{"--on-bypass", "throttle"}, oneUnitEach...)

func verdictGoes(w *world) (err error) {
	record, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	_, units, err := w.cardsNow()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.emptied(), w.agentBegins(record.Build), w.settle(cards, units)) }()
	if err := w.agentBegins(record.Build, throttles...); err != nil {
		return err
	}
	judged, ledger, err := w.judged(cards[0], record.Build)
	if err != nil {
		return err
	}
	if err := w.judgedByTheNext(judged, record.Build); err != nil {
		return fmt.Errorf("the next agent: %w", err)
	}
	heir, err := w.inherits(judged, ledger, cards[0], record.Build)
	if err != nil {
		return fmt.Errorf("the next pod: %w", err)
	}
	// The control: of this one it is found, too, once there is something to be found.
	if err := errors.Join(heir[1].must("open", 1), w.toldEverywhere()); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.hasTimeFor(aWhile, heir[0], "then throttled", 0.001, littleOfCard); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return w.endsUnseen(heir, record.Build)
}

// judged is a pod that goes around Divvy, is told and throttled; and the ledger that it has.
func (w *world) judged(card, build string) ([]*hand, string, error) {
	hands, err := w.twoFaced(card, build)
	if err != nil {
		return nil, "", err
	}
	for _, h := range hands {
		if err := h.must("open", 1); err != nil {
			return nil, "", err
		}
	}
	if err := w.toldEverywhere(); err != nil {
		return nil, "", err
	}
	ledger, err := w.ledgerOf("two-faced")
	return hands, ledger, errors.Join(err, w.hasTimeFor(aWhile, hands[0], "throttled", 0.001, littleOfCard))
}

// judgedByTheNext: another agent finds the same anew, in time; whoever reads the pod sees no change.
func (w *world) judgedByTheNext(hands []*hand, build string) error {
	before, err := w.bypassCondition("two-faced")
	if err == nil {
		err = w.agentBegins(build, throttles...)
	}
	if err != nil {
		return err
	}
	begun := time.Now()
	found := time.Duration(0)
	// As long as it would take the new one to find that it is over.
	for end := begun.Add(bypassBound); found == 0 || time.Since(begun) < found+verdictLasts; time.Sleep(20 * time.Millisecond) {
		now, err := w.bypassCondition("two-faced")
		if err != nil {
			return err
		}
		if now != before {
			return fmt.Errorf("its condition was %+v, and is %+v", before, now)
		}
		said, err := w.samples("divvy_tenant_bypass", "two-faced")
		if err != nil {
			return err
		}
		if found == 0 && strings.HasSuffix(strings.Join(said, " "), "} 1") {
			found = time.Since(begun)
		}
		if found == 0 && time.Now().After(end) {
			return fmt.Errorf("after %v it says %q", bypassBound, said)
		}
	}
	w.note += fmt.Sprintf("found anew %.1f s after the next agent; ", found.Seconds())
	p, err := w.get("two-faced")
	if err != nil {
		return err
	}
	if told, err := w.bypassEvents(p); err != nil || told != 1 {
		return errors.Join(err, fmt.Errorf("there are %d Events of it", told))
	}
	return w.hasTimeFor(aWhile, hands[0], "under it", 0.001, littleOfCard)
}

// bypassEvents is how often it was told by an Event.
func (w *world) bypassEvents(p *core.Pod) (int, error) {
	all, err := w.client.CoreV1().Events(w.space).List(w.ctx, meta.ListOptions{})
	if err != nil {
		return 0, err
	}
	told := 0
	for _, one := range all.Items {
		if one.InvolvedObject.UID == p.UID && one.Reason == "Bypass" {
			told += max(1, int(one.Count))
		}
	}
	return told, nil
}

// inherits: the pod ends, and before that verdict could be over by itself another of its name has its units. One that
// came later shows nothing: it does the same, is judged, and another comes after it.
func (w *world) inherits(before []*hand, ledger, card, build string) ([]*hand, error) {
	const tries = 3
	for range tries {
		old, err := w.get("two-faced")
		if err != nil {
			return nil, err
		}
		heir, came, err := w.heirOf(before, ledger, card, build)
		if err != nil {
			return nil, err
		}
		w.note += fmt.Sprintf("the next one %.1f s after its end; ", came.Seconds())
		if came < verdictLasts {
			// That is as long as whatever was known of the other one lasts.
			if err := w.hasTime(heir[0], "has", mostOfCard, 1); err != nil {
				return nil, err
			}
			return heir, w.untold("two-faced", string(old.UID))
		}
		if err := errors.Join(heir[1].must("open", 1), w.toldEverywhere()); err != nil {
			return nil, err
		}
		before = heir
	}
	return nil, fmt.Errorf("none of %d came before the verdict was over by itself: nothing is shown", tries)
}

// heirOf ends the pod, and makes the next one of its name: how long after its end that came.
func (w *world) heirOf(before []*hand, ledger, card, build string) ([]*hand, time.Duration, error) {
	if err := errors.Join(before[1].tell("exit"), before[1].conn.Close(), before[0].end(w)); err != nil {
		return nil, 0, err
	}
	// From when it has ended the kubelet gives its units to others.
	ended := time.Now()
	if err := w.remove("two-faced"); err != nil {
		return nil, 0, err
	}
	heir, err := w.twoFaced(card, build)
	if err != nil {
		return nil, 0, err
	}
	came := time.Since(ended)
	if err := heir[0].must("open", 1); err != nil {
		return nil, 0, err
	}
	if now, err := w.ledgerOf("two-faced"); err != nil || now != ledger {
		return nil, 0, errors.Join(err, fmt.Errorf("it came with %s and not %s: nothing is shown", filepath.Base(now),
			filepath.Base(ledger)))
	}
	return heir, came, nil
}

// untold: nobody says of it that it goes around Divvy, or ever did, nor still of who was called so before.
func (w *world) untold(name, before string) error {
	p, err := w.get(name)
	if err != nil {
		return err
	}
	if condition, err := w.bypassCondition(name); err != nil || condition.Type != "" {
		return errors.Join(err, fmt.Errorf("it is told %+v", condition))
	}
	note := ""
	err = w.until("its node says nothing of who was called so before", func() (err error) {
		if note, _, err = w.nodeNote("divvy.dev/bypass"); err == nil && strings.Contains(note, before) {
			err = fmt.Errorf("it says %q", note)
		}
		return err
	})
	if err != nil || strings.Contains(note, string(p.UID)) {
		return errors.Join(err, fmt.Errorf("its node says %q", note))
	}
	events, err := w.bypassEvents(p)
	if err != nil || events > 0 {
		return errors.Join(err, fmt.Errorf("there are %d Events of it", events))
	}
	return w.shows("divvy_tenant_bypass", name, "} 0")
}

// endsUnseen: its other program ends while there is no agent.
func (w *world) endsUnseen(hands []*hand, build string) error {
	if err := w.killed(agentProcess); err != nil {
		return err
	}
	works, cheats := hands[0], hands[1]
	if err := errors.Join(cheats.tell("exit"), cheats.conn.Close()); err != nil {
		return err
	}
	if err := w.agentBegins(build, throttles...); err != nil {
		return err
	}
	if err := w.toldItIsOver("two-faced"); err != nil {
		return err
	}
	return errors.Join(w.hasTimeFor(aWhile, works, "when that ended unseen", mostOfCard, 1),
		w.shows("divvy_tenant_bypass", "two-faced", "} 0"), works.end(w))
}
