package compatibility

import (
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const upgradeState = "nvidia.com/gpu-driver-upgrade-state"

func TestVendorPlugin(t *testing.T) {
	checks.Run(t, checks.Check{Name: "nvidias-own-plugin-serves-nodes-beside-ours",
		Requirement: "whole cards may go to nodes of NVIDIA's own plugin, counted by its resource, never refused " +
			"as unregistered; shares never; nodes under a driver upgrade are left out", Run: registeredByVendor})
}

// served makes a node as NVIDIA's device plugin and feature discovery leave it.
func served(env *harness.Env, name, count string) error {
	room := core.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"),
		"pods": resource.MustParse("250"), "nvidia.com/gpu": resource.MustParse(count)}
	_, err := env.Client.CoreV1().Nodes().Create(env.Ctx, &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{core.LabelHostname: name,
			"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}},
		meta.CreateOptions{})
	return err
}

func label(env *harness.Env, node, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := env.Client.CoreV1().Nodes().Patch(env.Ctx, node, types.MergePatchType, []byte(patch),
		meta.PatchOptions{})
	return err
}

// Four cards, which two pods take; whoever comes then waits, whatever Divvy was told of them.
func registeredByVendor(env *harness.Env) (err error) {
	node := env.Namespace + "-own"
	if err = served(env, node, "4"); err != nil {
		return err
	}
	defer env.DeleteNode(node, &err)
	a100 := func(name string, limits harness.Limits) *core.Pod {
		return harness.WithAnnotationMap(harness.Pod(name, harness.Container("c", limits)),
			map[string]string{"nvidia.com/use-gputype": "A100"})
	}
	for at := range 2 {
		if _, err = env.Create(a100(fmt.Sprintf("two-%d", at), harness.Limits{"nvidia.com/gpu": "2"})); err != nil {
			return err
		}
		p, err := env.WaitBound(fmt.Sprintf("two-%d", at))
		if err != nil {
			return err
		}
		if p.Spec.NodeName != node || p.Annotations[harness.AllocatedKey] != "" ||
			p.Annotations[harness.AssignedNodeKey] != node {
			return fmt.Errorf("it is on %s with %v", p.Spec.NodeName, p.Annotations)
		}
	}
	if err = env.CreateWaiting(a100("fifth", harness.Limits{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	// What is known only from the API server is counted the same.
	if err = env.Reinstall(); err != nil {
		return err
	}
	if err = env.CreateWaiting(a100("sixth", harness.Limits{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	for name, limits := range map[string]harness.Limits{"share": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"},
		"ours": {"divvy.dev/gpu-a100": "1"}} {
		p := harness.Pod(name, harness.Container("c", limits))
		if name == "share" {
			p = a100(name, limits)
		}
		if err = env.CreateWaiting(p); err != nil {
			return err
		}
	}
	if err = label(env, node, upgradeState, "pod-deletion-required"); err != nil {
		return err
	}
	if err = env.Delete("two-0"); err != nil {
		return err
	}
	if _, err = env.Create(a100("upgraded", harness.Limits{"nvidia.com/gpu": "1"})); err != nil {
		return err
	}
	err = env.WaitFor("the driver is named", func() error {
		why, err := env.WaitRefused("upgraded")
		if err == nil && !strings.Contains(why, upgradeState) {
			err = fmt.Errorf("%q", why)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err = label(env, node, upgradeState, "upgrade-done"); err != nil {
		return err
	}
	// The fifth, the sixth or this one: as many as there is room for.
	return env.WaitFor("two of those that wait are bound", func() error {
		count := 0
		for _, name := range []string{"fifth", "sixth", "upgraded"} {
			p, err := env.Get(name)
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
