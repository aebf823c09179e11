package main

import (
	"fmt"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"a-cordoned-device-gets-nothing-new-and-is-drained",
			"kubectl divvy cordon|drain NODE[/GPU]", drained})
}

const half = "40000" // MiB of a device of 80 GiB

// A pod has half of a device that is cordoned then, another one waits for the other half.
func drained(w *world) error {
	first, err := w.leaves("first", "")
	if err != nil {
		return err
	}
	shares, err := sharesOf(first)
	if err != nil {
		return err
	}
	node, device := first.Spec.NodeName, shares[0][0].uuid
	where := node + "/" + device
	if no, err := w.tool(nil, "drain", where); !no || err == nil ||
		!strings.Contains(err.Error(), w.space+"/first: nobody would make it anew") {
		return fmt.Errorf("a pod that nobody makes anew: %v", err)
	}
	if _, err := w.tool(nil, "cordon", where); err != nil {
		return err
	}
	// Twice is once.
	if _, err := w.tool(nil, "cordon", where); err != nil {
		return err
	}
	defer w.tool(nil, "uncordon", where)
	if err := w.closed(node, device, true); err != nil {
		return err
	}
	// It would fit there, and asks for that device alone.
	if _, err := w.create(picky("second", device)); err != nil {
		return err
	}
	why, err := w.refused("second")
	if err != nil {
		return err
	}
	if _, err := w.get("first"); err != nil {
		return fmt.Errorf("who was there has gone: %w", err)
	}
	if _, err := w.tool(nil, "drain", where, "--force", "--timeout", "30s"); err != nil {
		return err
	}
	if held, _, err := w.bookings(); err != nil || held[device] != 0 {
		return fmt.Errorf("%d still hold %s: %v", held[device], device, err)
	}
	if p, err := w.get("second"); err != nil || p.Spec.NodeName != "" {
		return fmt.Errorf("it went to a cordoned device: %v", err)
	}
	if _, err := w.tool(nil, "uncordon", where); err != nil {
		return err
	}
	if err := w.closed(node, device, false); err != nil {
		return err
	}
	w.note = "refused meanwhile: " + why
	_, err = w.bound("second")
	return err
}

// leaves makes a pod that is gone as soon as it is evicted: there is no kubelet.
func (w *world) leaves(name, device string) (*core.Pod, error) {
	if _, err := w.create(picky(name, device)); err != nil {
		return nil, err
	}
	return w.bound(name)
}

func picky(name, device string) *core.Pod {
	p := pod(name, container("c", one(half, "10")))
	at := int64(0)
	p.Spec.TerminationGracePeriodSeconds = &at
	if device != "" {
		p.Annotations = map[string]string{"nvidia.com/use-gpuuuid": device}
	}
	return p
}

func (w *world) closed(node, device string, want bool) error {
	found, err := w.client.CoreV1().Nodes().Get(w.ctx, node, meta.GetOptions{})
	if err != nil {
		return err
	}
	list := strings.Split(found.Annotations["hami.io/device-cordon"], ",")
	if slices.Contains(list, device) != want {
		return fmt.Errorf("%s says that %q are cordoned; %s: %v was expected", node, list, device, want)
	}
	var devices []struct {
		Uuid     string
		Cordoned bool
	}
	if _, err := w.tool(&devices, "gpus", "--cluster", "--node", node, "-o", "json"); err != nil {
		return err
	}
	for _, one := range devices {
		if one.Cordoned != (want && one.Uuid == device) {
			return fmt.Errorf("of %s it is listed that it is cordoned: %v", one.Uuid, one.Cordoned)
		}
	}
	return nil
}
