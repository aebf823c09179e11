package main

import (
	"encoding/json"
	"fmt"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-links-of-cards-are-registered",
			"how well each two cards are linked stands in the node, in HAMi's form, once",
			linksRegistered})
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
