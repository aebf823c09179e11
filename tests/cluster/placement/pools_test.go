package main

import (
	"fmt"
	"os"
	"strings"
)

// The pools of these checks: three nodes with 4 cards each, two of which train.
const (
	poolNodes    = 3
	poolTraining = 2 // cards of a node
	poolCards    = 4
)

func init() {
	checks = append(checks, check{"no-card-is-shared-across-pools",
		"pools: 12 cards, a training and an inference pool, no card ever shared across them; one " +
			"native whole-card pool and one shared pool side by side", pools})
}

// with runs Divvy with more options, and then as it was.
func (w *world) with(options []string, run func() error) (err error) {
	w.more = options
	defer func() {
		w.more = nil
		if again := w.again(); err == nil {
			err = again
		}
	}()
	if err = w.again(); err != nil {
		return err
	}
	return run()
}

func (w *world) poolsFile(nodes, training []string) (string, error) {
	text := fmt.Sprintf("pools:\n- {name: training, uuids: [%s], mode: exclusive, users: [%s], default_of: [%s]}\n"+
		"- {name: inference, nodes: [%s], mode: shared, device_policy: spread}\n",
		strings.Join(training, ", "), w.space, w.space, strings.Join(nodes, ", "))
	file := w.path("pools.yaml")
	return file, os.WriteFile(file, []byte(text), 0o644)
}

func pools(w *world) (err error) {
	var nodes, training []string
	for at := range poolNodes {
		name := fmt.Sprintf("%s-pool-%d", w.space, at)
		models := []string{}
		for card := range poolCards {
			models = append(models, "NVIDIA H100 80GB HBM3")
			if card < poolTraining {
				training = append(training, fmt.Sprintf("GPU-%s-%d", name, card))
			}
		}
		if err = w.cards(name, models...); err != nil {
			return err
		}
		defer w.without(name, &err)
		nodes = append(nodes, name)
	}
	file, err := w.poolsFile(nodes, training)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	return w.with([]string{"--pools", file}, func() error { return w.pooled(nodes, training) })
}

// Alternating, so that both kinds meet free cards of the other pool.
func (w *world) pooled(nodes, training []string) error {
	const serving = poolNodes * (poolCards - poolTraining) * 2
	owner := map[string]string{} // by card: the first pod there
	trains := map[string]bool{}
	for _, card := range training {
		trains[card] = true
	}
	var names []string
	for at := range serving {
		names = append(names, fmt.Sprintf("infer-%d", at))
		if at < len(training) {
			names = append(names, fmt.Sprintf("train-%d", at))
		}
	}
	for _, name := range names {
		// Whoever trains says nothing of pools: the namespace has one.
		p := pod(name, container("c", one("40000", "10")))
		if strings.HasPrefix(name, "infer") {
			p = noted(p, map[string]string{"use.divvy.dev/pool": "inference"})
		}
		if _, err := w.create(p); err != nil {
			return err
		}
	}
	for _, name := range names {
		card, err := w.onCard(name)
		if err != nil {
			return err
		}
		mine := trains[card] == strings.HasPrefix(name, "train")
		there := false
		for _, node := range nodes {
			there = there || strings.HasPrefix(card, "GPU-"+node+"-")
		}
		if !mine || !there {
			return fmt.Errorf("%s is on %s", name, card)
		}
		if before, taken := owner[card]; taken && trains[card] {
			return fmt.Errorf("%s and %s are on %s, which trains", before, name, card)
		}
		owner[card] = name
	}
	if len(owner) != poolNodes*poolCards {
		return fmt.Errorf("%d cards of 12 are used", len(owner))
	}
	w.note = fmt.Sprintf("%d pods on %d cards", len(names), len(owner))
	return w.poolIsFull()
}

// Either pool is full, and the 24 cards that are in none are not lent to it.
func (w *world) poolIsFull() error {
	for name, notes := range map[string]map[string]string{"more-training": nil,
		"more-inference": {"use.divvy.dev/pool": "inference"}} {
		if _, err := w.create(noted(pod(name, container("c", one("40000", "1"))), notes)); err != nil {
			return err
		}
		if _, err := w.refused(name); err != nil {
			return err
		}
	}
	_, err := w.create(noted(pod("unknown", container("c", one("100", "1"))),
		map[string]string{"use.divvy.dev/pool": "trainig"}))
	if err == nil || !strings.Contains(err.Error(), "trainig") {
		return fmt.Errorf("a pool that is not there: %v", err)
	}
	return nil
}
