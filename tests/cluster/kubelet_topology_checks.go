package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-links-of-cards-are-registered",
			"how well each two cards are linked stands in the node, in HAMi's form, once",
			linksRegistered},
		check{"kubelet-units-are-those-of-the-cards-that-were-given",
			"GetPreferredAllocation: what the kubelet counts is of the card that the scheduler gave",
			unitsOfCards})
}

type cardScores struct {
	UUID  string
	Score map[string]int
}

func linksRegistered(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	devices, err := registered(node)
	if err != nil {
		return err
	}
	var all []cardScores
	if err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-score"]), &all); err != nil {
		return err
	}
	if len(all) != len(devices) {
		return fmt.Errorf("%d cards are registered, %d have scores", len(devices), len(all))
	}
	scores := map[string]map[string]int{}
	for _, one := range all {
		scores[one.UUID] = one.Score
	}
	for _, a := range devices {
		for _, b := range devices {
			there, back := scores[a.ID][b.ID], scores[b.ID][a.ID]
			// Eighteen NVLinks each, by switches that join all.
			if linked := there > 1800 && there < 1900; there != back || linked != (a.ID != b.ID) {
				return fmt.Errorf("from %s to %s: %d, and back: %d", a.ID, b.ID, there, back)
			}
		}
	}
	return nil
}

// notedFor is which units the kubelet has noted for a pod, by NUMA node; "-1": it was not told.
func (w *world) notedFor(name string) (map[string][]string, error) {
	p, err := w.get(name)
	if err != nil {
		return nil, err
	}
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

func (w *world) unitsOf(name string) ([]string, error) {
	noted, err := w.notedFor(name)
	var units []string
	for _, ids := range noted {
		units = append(units, ids...)
	}
	return units, err
}

func unitsOfCards(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	devices, err := registered(node)
	if err != nil {
		return err
	}
	devices = healthy(devices)
	// One after the other it is clear who is meant. From the last card on: the kubelet begins at none.
	for at := range devices {
		name, card := fmt.Sprintf("single-%d", at), devices[len(devices)-1-at].ID
		right, err := w.unitsFor(map[string]string{name: card})
		if err == nil && right != 1 {
			units, _ := w.unitsOf(name)
			err = fmt.Errorf("%s has %s, and its units are %v", name, card, units)
		}
		if err != nil {
			return err
		}
	}
	crowd := map[string]string{}
	for at := range devices {
		for round := 0; round < 2; round++ {
			crowd[fmt.Sprintf("crowd-%d-%d", at, round)] = devices[len(devices)-1-at].ID
		}
	}
	right, err := w.unitsFor(crowd)
	w.note = fmt.Sprintf("one by one all; of %d pods at once %d", len(crowd), right)
	return err
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
		units, err := w.unitsOf(name)
		if err != nil {
			return 0, err
		}
		if len(units) == 1 && strings.HasPrefix(units[0], card+"::") {
			right++
		}
	}
	return right, nil
}
