package main

import (
	"fmt"
	"os"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-an-excluded-card-stays-with-who-has-it",
			"a card is excluded under a pod: it is neither registered nor counted, who is there keeps its share",
			excludedUnder})
}

// settle waits until just these cards are registered, and the kubelet has so many units.
func (w *world) settle(cards []string, units int64) error {
	return w.until(fmt.Sprintf("%d cards and %d units", len(cards), units), func() error {
		node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		all, err := registered(node)
		if err != nil {
			return err
		}
		var ids []string
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		if strings.Join(ids, ",") != strings.Join(cards, ",") {
			return fmt.Errorf("registered are %v", ids)
		}
		now := node.Status.Allocatable["nvidia.com/gpu"]
		if now.Value() != units {
			return fmt.Errorf("%s units are allocatable", now.String())
		}
		return nil
	})
}

func excludedUnder(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
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
	var all, others []string
	// Who fell off the bus under another check is not there when an agent begins anew.
	for _, one := range healthy(devices) {
		all = append(all, one.ID)
	}
	closed := all[1]
	others = append(append(others, all[0]), all[2:]...)
	capacity := node.Status.Capacity["nvidia.com/gpu"]
	each := capacity.Value() / int64(len(devices))
	tenant := onCardOf("tenant", closed)
	tenant.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(tenant); err != nil {
		return err
	}
	if err := w.runs("tenant"); err != nil {
		return err
	}
	settings := w.path("node-settings.yaml")
	text := "settings:\n- nodes: ['*']\n  per_device: 50\n- nodes: ['kubelet-?']\n  per_device: 6\n" +
		"  announce_numa: true\n" +
		"  exclude: {uuids: [" + closed + "]}\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return err
	}
	defer func() {
		// As the other checks want it.
		if again := w.agentBegins(record.Build); err == nil {
			err = again
		}
		if again := w.settle(all, each*int64(len(all))); err == nil {
			err = again
		}
		_ = os.Remove(settings)
	}()
	if err := w.agentBegins(record.Build, "--node-settings", settings); err != nil {
		return err
	}
	if err := w.settle(others, 6*int64(len(others))); err != nil {
		return err
	}
	why, err := w.closedToOthers(closed, others[0])
	w.note = fmt.Sprintf("%d units of a card before; who asks for it is told %q", each, why)
	return err
}

// closedToOthers: who asks for that card waits (why, is said), who is elsewhere runs, and "tenant",
// who has something of it, has not noticed.
func (w *world) closedToOthers(closed, other string) (string, error) {
	if _, err := w.create(onCardOf("late", closed)); err != nil {
		return "", err
	}
	why, err := w.refused("late")
	if err != nil {
		return "", err
	}
	elsewhere := onCardOf("elsewhere", other)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(elsewhere); err != nil {
		return "", err
	}
	if err := w.runs("elsewhere"); err != nil {
		return "", err
	}
	// All cards of this machine are at its first node; it was not told when the other one came.
	for name, node := range map[string]string{"elsewhere": "0", "tenant": "-1"} {
		noted, err := w.notedFor(name)
		if err != nil {
			return "", err
		}
		if len(noted) != 1 || len(noted[node]) != 1 {
			return "", fmt.Errorf("units of %s by NUMA node: %v, and not one at %s", name, noted, node)
		}
	}
	p, err := w.get("tenant")
	if err == nil && (p.Status.Phase != core.PodRunning || p.Status.ContainerStatuses[0].RestartCount != 0) {
		err = fmt.Errorf("who was there is %s", p.Status.Phase)
	}
	return why, err
}
