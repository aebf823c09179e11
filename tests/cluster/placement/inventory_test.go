package placement

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const inventoryKey = "divvy.dev/inventory"

func TestInventory(t *testing.T) {
	checks.Run(t, checks.Check{Name: "a-node-has-at-most-its-inventory",
		Requirement: "what a node registers first is recorded; what it registers beyond that later attracts no pod, is an " +
			"Event, and counts once an operator removes the record", Run: nodeHasItsInventory})
}

// writeNote writes an annotation of a node; null removes it.
func writeNote(env *harness.Env, node, key string, value *string) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = env.Client.CoreV1().Nodes().Patch(env.Ctx, node, types.MergePatchType, text, meta.PatchOptions{})
	return err
}

// inventory is the node's record, once there is one with so many devices of the model.
func inventory(env *harness.Env, node, model string, devices int) (map[string]any, error) {
	var record map[string]any
	err := env.WaitFor(fmt.Sprintf("%d devices are recorded of %s", devices, node), func() error {
		got, err := env.Client.CoreV1().Nodes().Get(env.Ctx, node, meta.GetOptions{})
		if err != nil {
			return err
		}
		text := got.Annotations[inventoryKey]
		if !strings.Contains(text, fmt.Sprintf(`"model":%q,"devices":%d,`, model, devices)) {
			return fmt.Errorf("the inventory is %q", text)
		}
		return json.Unmarshal([]byte(text), &record)
	})
	return record, err
}

func grown(env *harness.Env, node, model string, devices int) error {
	var list []string
	for at := range devices {
		list = append(list, fmt.Sprintf(`{"id":"GPU-%s-%d","index":%d,"count":10,"devmem":%d,`+
			`"devcore":100,"type":%q,"mode":"hami-core","health":true}`, node, at, at, harness.DeviceMemoryMiB, model))
	}
	text := "[" + strings.Join(list, ",") + "]"
	return writeNote(env, node, "hami.io/node-nvidia-register", &text)
}

func nodeHasItsInventory(env *harness.Env) (err error) {
	const model = "NVIDIA L40S"
	node := env.Namespace + "-grows"
	if err = env.CreateNode(node, model); err != nil {
		return err
	}
	defer env.DeleteNode(node, &err)
	if _, err = inventory(env, node, model, 1); err != nil {
		return err
	}
	// Cards that come while it learns are its own.
	if err = grown(env, node, model, 2); err != nil {
		return err
	}
	record, err := inventory(env, node, model, 2)
	if err != nil {
		return err
	}
	delete(record, "learningUntil")
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	learnt := string(text)
	if err = writeNote(env, node, inventoryKey, &learnt); err != nil {
		return err
	}
	if err = grown(env, node, model, 64); err != nil {
		return err
	}
	if err = env.WaitFor("an Event tells of it", func() error { return exceeded(env, node) }); err != nil {
		return err
	}
	l40s := func(name, count string) *core.Pod {
		return harness.WithAnnotationMap(harness.Pod(name, harness.Container("c", harness.Limits{"nvidia.com/gpu": count})),
			map[string]string{"nvidia.com/use-gputype": "L40S"})
	}
	if err = env.CreateWaiting(l40s("three", "3")); err != nil {
		return err
	}
	if _, err = env.Create(l40s("two", "2")); err != nil {
		return err
	}
	p, err := env.WaitBound("two")
	if err != nil {
		return err
	}
	if p.Spec.NodeName != node {
		return fmt.Errorf("it is on %s, not on %s", p.Spec.NodeName, node)
	}
	if err = writeNote(env, node, inventoryKey, nil); err != nil {
		return err
	}
	if _, err = inventory(env, node, model, 64); err != nil {
		return err
	}
	_, err = env.WaitBound("three")
	return err
}

func exceeded(env *harness.Env, node string) error {
	list, err := env.Client.CoreV1().Events("default").List(env.Ctx, meta.ListOptions{
		FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + node})
	if err != nil {
		return err
	}
	for _, one := range list.Items {
		if one.Reason == "InventoryExceeded" && one.Type == core.EventTypeWarning &&
			strings.Contains(one.Message, "62 devices NVIDIA L40S beyond the 2") &&
			strings.Contains(one.Message, "kubectl annotate node "+node+" "+inventoryKey+"-") {
			return nil
		}
	}
	return fmt.Errorf("%d Events, and none of them does", len(list.Items))
}
