package main

import (
	"encoding/json"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const inventoryKey = "divvy.dev/inventory"

func init() {
	checks = append(checks, check{"a-node-has-at-most-its-inventory",
		"what a node registers first is recorded; what it registers beyond that later attracts no pod, is an " +
			"Event, and counts once an operator removes the record", nodeHasItsInventory})
}

// writeNote writes an annotation of a node; null removes it.
func (w *world) writeNote(node, key string, value *string) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = w.client.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, text, meta.PatchOptions{})
	return err
}

// inventory is the node's record, once there is one with so many devices of the model.
func (w *world) inventory(node, model string, devices int) (map[string]any, error) {
	var record map[string]any
	err := w.until(fmt.Sprintf("%d devices are recorded of %s", devices, node), func() error {
		got, err := w.client.CoreV1().Nodes().Get(w.ctx, node, meta.GetOptions{})
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

func (w *world) grown(node, model string, devices int) error {
	var list []string
	for at := range devices {
		list = append(list, fmt.Sprintf(`{"id":"GPU-%s-%d","index":%d,"count":10,"devmem":%d,`+
			`"devcore":100,"type":%q,"mode":"hami-core","health":true}`, node, at, at, checkMemoryMi, model))
	}
	text := "[" + strings.Join(list, ",") + "]"
	return w.writeNote(node, "hami.io/node-nvidia-register", &text)
}

func nodeHasItsInventory(w *world) (err error) {
	const model = "NVIDIA L40S"
	node := w.space + "-grows"
	if err = w.cards(node, model); err != nil {
		return err
	}
	defer w.without(node, &err)
	if _, err = w.inventory(node, model, 1); err != nil {
		return err
	}
	// Cards that come while it learns are its own.
	if err = w.grown(node, model, 2); err != nil {
		return err
	}
	record, err := w.inventory(node, model, 2)
	if err != nil {
		return err
	}
	delete(record, "learningUntil")
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	learnt := string(text)
	if err = w.writeNote(node, inventoryKey, &learnt); err != nil {
		return err
	}
	if err = w.grown(node, model, 64); err != nil {
		return err
	}
	if err = w.until("an Event tells of it", func() error { return w.exceeded(node) }); err != nil {
		return err
	}
	l40s := func(name, count string) *core.Pod {
		return noted(pod(name, container("c", asks{"nvidia.com/gpu": count})),
			map[string]string{"nvidia.com/use-gputype": "L40S"})
	}
	if err = w.waits(l40s("three", "3")); err != nil {
		return err
	}
	if _, err = w.create(l40s("two", "2")); err != nil {
		return err
	}
	p, err := w.bound("two")
	if err != nil {
		return err
	}
	if p.Spec.NodeName != node {
		return fmt.Errorf("it is on %s, not on %s", p.Spec.NodeName, node)
	}
	if err = w.writeNote(node, inventoryKey, nil); err != nil {
		return err
	}
	if _, err = w.inventory(node, model, 64); err != nil {
		return err
	}
	_, err = w.bound("three")
	return err
}

func (w *world) exceeded(node string) error {
	list, err := w.client.CoreV1().Events("default").List(w.ctx, meta.ListOptions{
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
