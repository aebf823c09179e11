package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func init() {
	checks = append(checks,
		check{"kubelet-links-of-cards-are-registered",
			"how well each two cards are linked stands in the node, in HAMi's form, once; where they are linked " +
				"otherwise it says otherwise",
			linksRegistered},
		check{"kubelet-units-are-those-of-the-cards-that-were-given",
			"GetPreferredAllocation: what the kubelet counts is of the card that the scheduler gave; where that is said " +
				"too late it is not",
			unitsOfCards})
}

type cardScores struct {
	UUID  string
	Score map[string]int
}

// scoresOf are the scores of each two of the node's cards, and the cards in their order.
func (w *world) scoresOf() ([]string, map[string]map[string]int, error) {
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	devices, err := registered(node)
	if err != nil {
		return nil, nil, err
	}
	var all []cardScores
	if err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-score"]), &all); err != nil {
		return nil, nil, err
	}
	if len(all) != len(devices) {
		return nil, nil, fmt.Errorf("%d cards are registered, %d have scores", len(devices), len(all))
	}
	var cards []string
	scores := map[string]map[string]int{}
	for at, one := range all {
		cards = append(cards, devices[at].ID)
		scores[one.UUID] = one.Score
	}
	return cards, scores, nil
}

// linkedBy: each two cards have so many NVLinks, by what stands in the node.
func (w *world) linkedBy(links func(a, b int) int) error {
	cards, scores, err := w.scoresOf()
	if err != nil {
		return err
	}
	for at, a := range cards {
		for other, b := range cards {
			there, back := scores[a][b], scores[b][a]
			// A hundred for each link, and less than that for where they are.
			if wanted := links(at, other); there != back || there/100 != wanted || (there == 0) != (at == other) {
				return fmt.Errorf("from %s to %s: %d, and back: %d, and not %d links", a, b, there, back, wanted)
			}
		}
	}
	return nil
}

// Eighteen each, by switches that join all.
func allLinked(a, b int) int {
	if a == b {
		return 0
	}
	return 18
}

func linksRegistered(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	// The agent that is there may have just begun.
	if err := w.until("all are linked", func() error { return w.linkedBy(allLinked) }); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	// Simulated machines are told by it which links there are; agents inherit it.
	const told = "SIMGPU_NVLINKS"
	defer func() {
		err = errors.Join(err, os.Unsetenv(told), w.agentBegins(record.Build),
			w.until("all are linked again", func() error { return w.linkedBy(allLinked) }))
	}()
	if err := os.Setenv(told, "0-1=4"); err != nil {
		return err
	}
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	// The control: another machine has other scores.
	err = w.until("only the first two are linked", func() error {
		return w.linkedBy(func(a, b int) int {
			if a+b == 1 {
				return 4
			}
			return 0
		})
	})
	if err == nil && w.linkedBy(allLinked) == nil {
		err = errors.New("control: whatever the links are, all are linked: nothing is shown")
	}
	return err
}

// notedFor is which units the kubelet has noted for a pod, by NUMA node; "-1": it was not told.
func (w *world) notedFor(name string) (map[string][]string, error) {
	p, err := w.get(name)
	if err != nil {
		return nil, err
	}
	return notedOf(p)
}

func notedOf(p *core.Pod) (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(kubeletDir, "device-plugins", "kubelet_internal_checkpoint"))
	if err != nil {
		return nil, err
	}
	var noted struct {
		Data struct {
			PodDeviceEntries []struct {
				PodUID    string
				DeviceIDs map[string][]string
			}
		}
	}
	if err := json.Unmarshal(text, &noted); err != nil {
		return nil, err
	}
	units := map[string][]string{}
	for _, one := range noted.Data.PodDeviceEntries {
		if one.PodUID != string(p.UID) {
			continue
		}
		for node, ids := range one.DeviceIDs {
			units[node] = append(units[node], ids...)
		}
	}
	return units, nil
}

func unitsOf(p *core.Pod) ([]string, error) {
	noted, err := notedOf(p)
	var units []string
	for _, ids := range noted {
		units = append(units, ids...)
	}
	return units, err
}

// unitsRight: the only unit that it has is of the only card that it was given.
func unitsRight(p *core.Pod) (bool, error) {
	units, err := unitsOf(p)
	if err != nil {
		return false, err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return false, err
	}
	if len(units) != 1 || len(shares) != 1 || len(shares[0]) != 1 {
		return false, fmt.Errorf("%s has units %v of %v", p.Name, units, shares)
	}
	return strings.HasPrefix(units[0], shares[0][0].uuid+"::"), nil
}

func unitsOfCards(w *world) error {
	_, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	unsaid, err := w.unsaidUnits(cards)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.oneByOne(cards); err != nil {
		return err
	}
	crowd := map[string]string{}
	for at := range cards {
		for round := 0; round < 2; round++ {
			crowd[fmt.Sprintf("crowd-%d-%d", at, round)] = cards[len(cards)-1-at]
		}
	}
	right, err := w.unitsFor(crowd)
	w.note = fmt.Sprintf("one by one all; of %d pods at once %d; of %d told of too late %d", len(crowd),
		right, len(cards), unsaid)
	return err
}

// oneByOne: one after the other it is clear who is meant. From the last card on: the kubelet begins at none. An agent
// that hears of a pod a quarter of a second after its kubelet cannot say it, which may happen to half of them.
func (w *world) oneByOne(cards []string) error {
	wrong := 0
	for at := 0; at < len(cards); {
		name, card := fmt.Sprintf("single-%d-%d", at, wrong), cards[len(cards)-1-at]
		right, err := w.unitsFor(map[string]string{name: card})
		if err != nil {
			return err
		}
		if right == 1 {
			at++
			continue
		}
		if wrong++; wrong > len(cards)/2 {
			return fmt.Errorf("%s has %s, and a unit of another card, as others before", name, card)
		}
	}
	return nil
}

// unitsFor has pods of these names get something of these cards at once, and counts whose units are
// of its card.
func (w *world) unitsFor(cards map[string]string) (int, error) {
	for name, card := range cards {
		p := onCardOf(name, card)
		p.Spec.Containers[0].Args = []string{"work"}
		if _, err := w.create(p); err != nil {
			return 0, err
		}
	}
	right := 0
	for name, card := range cards {
		if err := w.runs(name); err != nil {
			return 0, err
		}
		if on, err := w.onCard(name); err != nil || on != card {
			return 0, errors.Join(err, fmt.Errorf("%s is on %s, not %s", name, on, card))
		}
		p, err := w.get(name)
		if err != nil {
			return 0, err
		}
		so, err := unitsRight(p)
		if err != nil {
			return 0, err
		}
		if so {
			right++
		}
	}
	return right, nil
}

// unsaidUnits is the control: how many of these have a unit of their card though the kubelet took one for each before
// anybody said which card that is.
func (w *world) unsaidUnits(cards []string) (right int, err error) {
	pods, none := w.client.CoreV1().Pods("kube-system"), int64(0)
	var names []string
	defer func() {
		for _, name := range names {
			err = errors.Join(err, pods.Delete(context.WithoutCancel(w.ctx), name,
				meta.DeleteOptions{GracePeriodSeconds: &none}))
		}
		err = errors.Join(err, w.alone())
	}()
	// Without a word cards come by turns, the first by name first: these are given theirs the other way round.
	backwards := slices.Sorted(slices.Values(cards))
	slices.Reverse(backwards)
	for at, card := range backwards {
		p := probe(fmt.Sprintf("%s-%d", w.space, at), one("2000", "10"))
		p.Spec.NodeName = kubeletNode
		if p, err = pods.Create(w.ctx, p, meta.CreateOptions{}); err != nil {
			return right, err
		}
		names = append(names, p.Name)
		if err := w.takesUnit(p); err != nil {
			return right, err
		}
		p, err = pods.Patch(w.ctx, p.Name, types.MergePatchType, noteOf(allocated, card+",NVIDIA,2000,10:;"),
			meta.PatchOptions{})
		if err != nil {
			return right, err
		}
		so, err := unitsRight(p)
		if err != nil {
			return right, err
		}
		if so {
			right++
		}
	}
	if right == len(cards) {
		err = errors.New("who is told of too late is no different: nothing is shown")
	}
	return right, err
}

// takesUnit waits until the kubelet has noted a unit for it.
func (w *world) takesUnit(p *core.Pod) error {
	return w.until("the kubelet takes a unit for "+p.Name, func() error {
		units, err := unitsOf(p)
		if err == nil && len(units) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
}
