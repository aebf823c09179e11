package main

import (
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const upgradeState = "nvidia.com/gpu-driver-upgrade-state"

func init() {
	checks = append(checks, check{"nvidias-own-plugin-serves-nodes-beside-ours",
		"whole cards may go to nodes of NVIDIA's own plugin, counted by its resource, never refused " +
			"as unregistered; shares never; nodes under a driver upgrade are left out", ownPlugin})
}

// served makes a node as NVIDIA's device plugin and feature discovery leave it.
func (w *world) served(name, count string) error {
	room := core.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"),
		"pods": resource.MustParse("250"), "nvidia.com/gpu": resource.MustParse(count)}
	_, err := w.client.CoreV1().Nodes().Create(w.ctx, &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{core.LabelHostname: name,
			"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}},
		meta.CreateOptions{})
	return err
}

func (w *world) label(node, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := w.client.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, []byte(patch),
		meta.PatchOptions{})
	return err
}

// Four cards, which two pods take; whoever comes then waits, whatever Divvy was told of them.
func ownPlugin(w *world) (err error) {
	node := w.space + "-own"
	if err = w.served(node, "4"); err != nil {
		return err
	}
	defer w.without(node, &err)
	a100 := func(name string, limits asks) *core.Pod {
		return noted(pod(name, container("c", limits)),
			map[string]string{"nvidia.com/use-gputype": "A100"})
	}
	for at := range 2 {
		if _, err = w.create(a100(fmt.Sprintf("two-%d", at), asks{"nvidia.com/gpu": "2"})); err != nil {
			return err
		}
		p, err := w.bound(fmt.Sprintf("two-%d", at))
		if err != nil {
			return err
		}
		if p.Spec.NodeName != node || p.Annotations[allocated] != "" || p.Annotations[assigned] != node {
			return fmt.Errorf("it is on %s with %v", p.Spec.NodeName, p.Annotations)
		}
	}
	if err = w.waits(a100("fifth", asks{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	// What is known only from the API server is counted the same.
	if err = w.again(); err != nil {
		return err
	}
	if err = w.waits(a100("sixth", asks{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	for name, limits := range map[string]asks{"share": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"},
		"ours": {"divvy.dev/gpu-a100": "1"}} {
		p := pod(name, container("c", limits))
		if name == "share" {
			p = a100(name, limits)
		}
		if err = w.waits(p); err != nil {
			return err
		}
	}
	if err = w.label(node, upgradeState, "pod-deletion-required"); err != nil {
		return err
	}
	if err = w.remove("two-0"); err != nil {
		return err
	}
	if _, err = w.create(a100("upgraded", asks{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	err = w.until("the driver is named", func() error {
		why, err := w.refused("upgraded")
		if err == nil && !strings.Contains(why, upgradeState) {
			err = fmt.Errorf("%q", why)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err = w.label(node, upgradeState, "upgrade-done"); err != nil {
		return err
	}
	// The fifth, the sixth or this one: as many as there is room for.
	return w.until("two of those that wait are bound", func() error {
		count := 0
		for _, name := range []string{"fifth", "sixth", "upgraded"} {
			p, err := w.get(name)
			if err != nil {
				return err
			}
			if p.Spec.NodeName == node {
				count++
			}
		}
		if count != 2 {
			return fmt.Errorf("%d are", count)
		}
		return nil
	})
}

func (w *world) waits(p *core.Pod) error {
	if _, err := w.create(p); err != nil {
		return err
	}
	_, err := w.refused(p.Name)
	return err
}
