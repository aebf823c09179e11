package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-card-that-fell-off-the-bus-is-given-to-nobody",
			"Xid 79 under a pod: scheduler and kubelet know within 10 s, who is elsewhere is not disturbed",
			offTheBus})
}

const healthBound = 10 * time.Second

type registeredCard struct {
	ID     string
	Health bool
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
	// A card that an earlier try struck stays struck.
	if devices = healthy(devices); len(devices) < 2 {
		return fmt.Errorf("%d healthy cards are registered", len(devices))
	}
	before := node.Status.Allocatable["nvidia.com/gpu"]
	good, bad := devices[0].ID, devices[len(devices)-1].ID
	elsewhere := onCardOf("elsewhere", good)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(elsewhere); err != nil {
		return err
	}
	if err := w.runs("elsewhere"); err != nil {
		return err
	}
	striker := onCardOf("striker", bad)
	striker.Spec.Containers[0].Env = []core.EnvVar{{Name: "SIMGPU_FAULTS", Value: "xid=79"}}
	if _, err := w.create(striker); err != nil {
		return err
	}
	err = w.until("it has struck", func() error {
		p, err := w.get("striker")
		if err == nil && p.Status.Phase != core.PodFailed && p.Status.Phase != core.PodSucceeded {
			err = fmt.Errorf("it is %s: %s", p.Status.Phase, unscheduled(p))
		}
		return err
	})
	if err != nil {
		return err
	}
	struck := time.Now()
	err = w.until("the scheduler is told", func() error {
		node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		now, err := registered(node)
		if err != nil {
			return err
		}
		if left := healthy(now); len(left) != len(devices)-1 || left[0].ID != good {
			return fmt.Errorf("healthy are %v", left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(struck)
	// A kubelet writes into its node every 10 s; it gives out no such unit from when it is told.
	err = w.until("the kubelet has said so", func() error {
		node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		now := node.Status.Allocatable["nvidia.com/gpu"]
		if now.Cmp(before) >= 0 {
			return fmt.Errorf("%s units are allocatable, as before", now.String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	said := time.Since(struck)
	if _, err := w.create(onCardOf("late", bad)); err != nil {
		return err
	}
	why, err := w.refused("late")
	if err != nil {
		return err
	}
	if !strings.Contains(why, "out of service") {
		return fmt.Errorf("who asks for that card is told %q", why)
	}
	p, err := w.get("elsewhere")
	if err == nil && (p.Status.Phase != core.PodRunning || p.Status.ContainerStatuses[0].RestartCount != 0) {
		err = fmt.Errorf("who is elsewhere is %s", p.Status.Phase)
	}
	if err == nil && took > healthBound {
		err = fmt.Errorf("it took %v", took)
	}
	w.note = fmt.Sprintf("known to the scheduler after %.1f s, said by the kubelet after %.1f s",
		took.Seconds(), said.Seconds())
	return err
}
