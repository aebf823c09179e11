package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-card-that-fell-off-the-bus-is-given-to-nobody",
			"Xid 79 under a pod: scheduler and kubelet know within 10 s, who is elsewhere is not disturbed; five minutes after " +
				"it is back on the bus it is offered again, and who waited for it gets it",
			offTheBus})
}

const healthBound = 10 * time.Second

// How often an agent asks its driver.
const lookEvery = 2 * time.Second

type registeredCard struct {
	ID     string
	Health bool
	Count  int64 // units, by each name
}

// registered is what the node's agent says that it has.
func registered(node *core.Node) ([]registeredCard, error) {
	var all []registeredCard
	err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-register"]), &all)
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("%d cards are registered", len(all))
	}
	return all, err
}

func healthy(all []registeredCard) []registeredCard {
	var found []registeredCard
	for _, one := range all {
		if one.Health {
			found = append(found, one)
		}
	}
	return found
}

// onCardOf asks for a share of that card alone.
func onCardOf(name, uuid string) *core.Pod {
	p := probe(name, one("2000", "10"))
	p.Annotations = map[string]string{"use.divvy.dev/uuid": uuid}
	return p
}

func offTheBus(w *world) error {
	return w.onQuickCards(func(uuids []string) error {
		known, said, err := w.fallsOff(uuids[0], uuids[1])
		if err != nil {
			return err
		}
		back, err := w.comesBack(uuids[0])
		if err == nil {
			err = w.stillWorks("elsewhere")
		}
		w.note = fmt.Sprintf("known to the scheduler after %.1f s, said by the kubelet after %.1f s; offered again %.1f s "+
			"after its reset (five minutes are %v here)", known.Seconds(), said.Seconds(), back.Seconds(), quickQuiet)
		return err
	})
}

// fallsOff: how long it took until the scheduler knew, and until the kubelet had said so.
func (w *world) fallsOff(bad, good string) (known, said time.Duration, err error) {
	_, units, err := w.cardsNow()
	if err != nil {
		return 0, 0, err
	}
	elsewhere := onCardOf("elsewhere", good)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(elsewhere); err != nil {
		return 0, 0, err
	}
	if err := w.runs("elsewhere"); err != nil {
		return 0, 0, err
	}
	if err := w.strikes(onCardOf("striker", bad), "xid=79"); err != nil {
		return 0, 0, err
	}
	clock := watchStalls()
	defer clock.end()
	if err := w.offers(1); err != nil {
		return 0, 0, err
	}
	known = clock.passed()
	// A kubelet writes into its node every 10 s; it gives out no such unit from when it is told.
	if err := w.onlyOffered(good, units/2); err != nil {
		return 0, 0, err
	}
	said = clock.passed()
	if err := errors.Join(w.outOfService("late", bad), w.stillWorks("elsewhere")); err != nil {
		return 0, 0, err
	}
	if known > healthBound {
		err = fmt.Errorf("it took %v", known)
	}
	return known, said, err
}

// comesBack: a simulated card on which nobody is any more is on the bus again when somebody comes, as after a reset.
// How long it takes until it is offered again.
func (w *world) comesBack(bad string) (time.Duration, error) {
	// The control: time alone does not bring it back.
	lost := time.Now()
	err := w.until("five minutes are over", func() error {
		if left := quickQuiet + lookEvery - time.Since(lost); left > 0 {
			return fmt.Errorf("it takes %v more", left)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if count, err := w.healthyCards(); err != nil || count != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d cards are offered", count))
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return 0, err
	}
	reset := time.Now()
	if _, err := w.create(w.bareOn(quickCards, "resets", record.Build)); err != nil {
		return 0, err
	}
	if err := w.offers(2); err != nil {
		return 0, err
	}
	back := time.Since(reset)
	// It did not answer when it was looked at last before.
	if back < quickQuiet-lookEvery {
		return 0, fmt.Errorf("it was offered again %v after its reset", back)
	}
	return back, w.getsIt("late", bad)
}
