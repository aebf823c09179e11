package main

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func init() {
	checks = append(checks,
		check{"kubelet-divvys-scheduler-beside-volcanos",
			"both schedulers run, and the node is Volcano's: a card of which a pod of Divvy's has something is not offered to " +
				"Volcano until that ends; Divvy's scheduler places nothing there, and a pod that neither placed begins " +
				"nothing; an idle pod of Volcano's is told and evicted by Divvy's; and back, a card that a pod of " +
				"Volcano's has is not offered to Divvy's until that ends",
			besideVolcano})
}

func besideVolcano(w *world) (err error) {
	record, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	end, err := w.volcanoBegins()
	if end != nil {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	told := &platform{extend: 1}
	return w.withPlatform(told, "4s", func() (err error) {
		defer func() {
			if err != nil {
				err = errors.Join(err, w.emptied(), w.backFromVolcano(record.Build))
			}
		}()
		if err := w.underVolcano(record.Build, cards); err != nil {
			return err
		}
		if err := w.volcanosIdlePod(told); err != nil {
			return err
		}
		return w.underDivvyAgain(record.Build, cards)
	})
}

// volcanosPodOn is the card that Volcano gave the pod, which runs.
func (w *world) volcanosPodOn(name string) (string, error) {
	if err := w.runs(name); err != nil {
		return "", errors.Join(err, errors.New(w.processes.tail(volcanoProcess)))
	}
	p, err := w.get(name)
	if err != nil {
		return "", err
	}
	card, _, _ := strings.Cut(p.Annotations[volcanoAssigned], ",")
	return card, nil
}

// volcanoHears: of so many cards, and whether that one is among them.
func (w *world) volcanoHears(count int, uuid string, there bool) error {
	return w.until(fmt.Sprintf("Volcano is told of %d cards", count), func() error {
		text, _, err := w.nodeNote(volcanoRegister)
		if err == nil && (strings.Count(text, ":") != count || strings.Contains(text, uuid) != there) {
			err = fmt.Errorf("it is told %q", text)
		}
		return err
	})
}

// underVolcano: a pod of Divvy's was there first, and others of Divvy's come.
func (w *world) underVolcano(build string, cards []string) error {
	ours := shareOf("ours", cards[0], 2000)
	ours.Spec.Containers[0].Args = []string{"stay"}
	if _, err := w.create(ours); err != nil {
		return err
	}
	if err := w.runs("ours"); err != nil {
		return err
	}
	if err := w.agentBegins(build, "--dialect", "volcano"); err != nil {
		return err
	}
	if err := w.volcanoHears(len(cards)-1, cards[0], false); err != nil {
		return err
	}
	// More than half of a card each.
	on := map[string]string{}
	for at := range cards {
		name := fmt.Sprintf("theirs-%d", at)
		if err := w.byVolcano(name, vgpu("50000", "10"), "stay"); err != nil {
			return err
		}
		if at == len(cards)-1 {
			break
		}
		card, err := w.volcanosPodOn(name)
		if err != nil {
			return err
		}
		if other, taken := on[card]; taken || card == cards[0] {
			return fmt.Errorf("%s is on %s, as %q", name, card, other)
		}
		on[card] = name
	}
	last := fmt.Sprintf("theirs-%d", len(cards)-1)
	if err := w.volcanoRefuses(last, ""); err != nil {
		return err
	}
	if err := errors.Join(w.divvyPlacesNothing(), w.neitherPlaced(), w.stillWorks("ours")); err != nil {
		return err
	}
	// The control: it was that pod's card that was missing.
	if err := w.remove("ours"); err != nil {
		return err
	}
	if err := w.volcanoHears(len(cards), cards[0], true); err != nil {
		return err
	}
	if card, err := w.volcanosPodOn(last); err != nil || card != cards[0] {
		return errors.Join(err, fmt.Errorf("%s is on %s", last, card))
	}
	return nil
}

// divvyPlacesNothing: there is room on every card, and more than these ask for.
func (w *world) divvyPlacesNothing() error {
	for name, counted := range map[string]string{"waits": "nvidia.com/gpu", "waits-too": "divvy.dev/gpu"} {
		p := probe(name, asks{counted: "1", "divvy.dev/gpumem": "1000"})
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := w.create(p); err != nil {
			return err
		}
		why, err := w.refused(name)
		if err != nil {
			return err
		}
		w.note = fmt.Sprintf("whom Divvy's scheduler does not place is told %q", why)
	}
	return nil
}

// neitherPlaced: the cluster's own scheduler counts devices by the node's status, and knows of no cards.
func (w *world) neitherPlaced() error {
	if _, err := w.create(probe("nobodys", asks{volcanoCount: "1"})); err != nil {
		return err
	}
	err := w.until("its container is not made", func() error {
		p, err := w.get("nobodys")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "has no "+volcanoAssigned) {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s on %q: %s", p.Status.Phase, p.Spec.NodeName, unscheduled(p))
	})
	return errors.Join(err, w.remove("nobodys"))
}

// volcanosIdlePod: conditions, notices and evictions are of Divvy's scheduler, whoever placed the pod. The others, idle
// for as long, may be for ever.
func (w *world) volcanosIdlePod(told *platform) error {
	if err := w.podGroup("idles", 1); err != nil {
		return err
	}
	heard, err := w.listens()
	if err != nil {
		return err
	}
	defer heard.end()
	p := annotated(ofVolcano("idles", "idles", vgpu("2000", "10"), "stay"), "use.divvy.dev/idle-stop", idleStop)
	if _, err := w.create(p); err != nil {
		return err
	}
	// It is gone some seconds later.
	if err := heard.told(w, "idles", "divvy.dev/Idle", ""); err != nil {
		return err
	}
	err = w.until("it is evicted", func() error {
		if p, err := w.get("idles"); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.of("idles"))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if heard := strings.Join(told.of("idles"), " "); heard != "idle-notice idle-due idle-due" {
		return fmt.Errorf("its platform heard: %s", heard)
	}
	if heard := told.of("theirs-0"); len(heard) > 0 {
		return fmt.Errorf("of one that may be idle the platform heard %v", heard)
	}
	return errors.Join(w.saysOf("idles", "Idle", "EvictedIdle"), w.stillWorks("theirs-0"))
}

// underDivvyAgain: pods of Volcano's have all cards; who waits for Divvy's scheduler gets the first that they leave.
func (w *world) underDivvyAgain(build string, cards []string) error {
	if err := w.backFromVolcano(build); err != nil {
		return err
	}
	if err := w.offers(0); err != nil {
		return err
	}
	for _, name := range []string{"waits", "waits-too"} {
		if _, err := w.refused(name); err != nil {
			return err
		}
	}
	left := "theirs-1"
	p, err := w.get(left)
	if err != nil {
		return err
	}
	free, _, _ := strings.Cut(p.Annotations[volcanoAssigned], ",")
	if err := w.remove(left); err != nil {
		return err
	}
	for _, name := range []string{"waits", "waits-too"} {
		if err := w.runs(name); err != nil {
			return err
		}
		if on, err := w.onCard(name); err != nil || on != free {
			return errors.Join(err, fmt.Errorf("%s is on %s, and %s was left", name, on, free))
		}
	}
	for at := range cards {
		if name := fmt.Sprintf("theirs-%d", at); name != left {
			if err := w.stillWorks(name); err != nil {
				return err
			}
		}
	}
	if err := w.emptied(); err != nil {
		return err
	}
	return w.offers(len(cards))
}
