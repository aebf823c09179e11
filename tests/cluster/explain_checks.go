package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"a-waiting-pod-is-explained-and-what-helps-helps",
			"explain: the typed reason and the nearest fix; reasons kept for pending pods", explained},
		check{"a-plan-is-what-then-happens",
			"divvy plan -f FILE: where would these go, one after the other", planned},
		check{"a-snapshot-of-the-cluster-is-decided-the-same-again",
			"divvy snapshot of the live cluster for the simulator", snapshotted})
}

// tool runs the program as a user does; its answer is JSON. Whether it said no (exit status 1).
func (w *world) tool(into any, args ...string) (no bool, err error) {
	command := exec.CommandContext(w.ctx, w.divvy, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.path("kubeconfig"))
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		no = exit.ExitCode() == 1
		if !no || len(said) == 0 {
			return no, fmt.Errorf("divvy %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
		}
	} else if err != nil {
		return false, err
	}
	if into == nil {
		return no, nil
	}
	if err := json.Unmarshal(said, into); err != nil {
		return no, fmt.Errorf("divvy %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return no, nil
}

type explanation struct {
	Fits    bool
	Bound   bool
	Node    string
	Reasons map[string]int
	Nodes   []struct {
		Node    string
		Devices []struct{ Why string }
	}
	Fixes []struct {
		Change  string
		Nodes   int
		Changes []struct{ From, To uint64 }
	}
}

// inSpace explains a pod that is there.
func (w *world) inSpace(name string) (explanation, error) {
	var said []explanation
	no, err := w.tool(&said, "explain", "pod", name, "-n", w.space, "-o", "json")
	if err != nil {
		return explanation{}, err
	}
	if len(said) != 1 || said[0].Fits == no {
		return explanation{}, fmt.Errorf("%s: %+v, exit status says no: %v", name, said, no)
	}
	return said[0], nil
}

func explained(w *world) error {
	if _, err := w.create(pod("big", container("c", one("100000", "30")))); err != nil {
		return err
	}
	if _, err := w.refused("big"); err != nil {
		return err
	}
	said, err := w.inSpace("big")
	if err != nil {
		return err
	}
	if said.Fits || len(said.Nodes) != checkNodes || len(said.Nodes[0].Devices) != checkDevices ||
		!strings.Contains(said.Nodes[0].Devices[0].Why, "the card has 80 GiB") {
		return fmt.Errorf("big: %+v", said)
	}
	fits := uint64(0)
	for _, fix := range said.Fixes {
		if strings.Contains(fix.Change, "of device memory") && fix.Nodes == checkNodes {
			fits = fix.Changes[0].To >> 20
		}
	}
	if fits != checkMemoryMi {
		return fmt.Errorf("no fix says %d MiB: %+v", checkMemoryMi, said.Fixes)
	}
	if _, err := w.create(pod("less", container("c", one(fmt.Sprint(fits), "30")))); err != nil {
		return err
	}
	less, err := w.bound("less")
	if err != nil {
		return err
	}
	if said, err = w.inSpace("less"); err != nil {
		return err
	}
	if !said.Bound || said.Node != less.Spec.NodeName {
		return fmt.Errorf("less is on %s: %+v", less.Spec.NodeName, said)
	}
	return w.until("big is told why it waits", func() error {
		p, err := w.get("big")
		if err != nil {
			return err
		}
		for _, one := range p.Status.Conditions {
			if one.Type == "divvy.dev/DevicesFit" && one.Status == core.ConditionFalse &&
				strings.Contains(one.Message, "3 devices with too little memory") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", p.Status.Conditions)
	})
}

const plannedPods = `
{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [
  {name: c, image: registry.invalid/none, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: some}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: c
        image: registry.invalid/none
        resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 30000}}
---
{apiVersion: v1, kind: Pod, metadata: {name: never}, spec: {containers: [
  {name: c, image: registry.invalid/none, resources: {limits: {nvidia.com/gpu: 9}}}]}}
`

func planned(w *world) error {
	file := filepath.Join(w.path(), w.space+".yaml")
	if err := os.WriteFile(file, []byte(plannedPods), 0o644); err != nil {
		return err
	}
	defer os.Remove(file)
	var plan []struct {
		Pod, Node string
		Fits      bool
		Devices   []string
	}
	no, err := w.tool(&plan, "plan", "-f", file, "-n", w.space, "-o", "json")
	if err != nil {
		return err
	}
	if !no || len(plan) != 4 || plan[3].Fits {
		return fmt.Errorf("the plan is %+v", plan)
	}
	pods, err := w.client.CoreV1().Pods(w.space).List(w.ctx, meta.ListOptions{})
	if err != nil || len(pods.Items) != 0 {
		return fmt.Errorf("the plan made %d pods, %w", len(pods.Items), err)
	}
	for at, limits := range []asks{{"nvidia.com/gpu": "1"},
		{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "30000"},
		{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "30000"}} {
		name := fmt.Sprintf("p-%d", at)
		if _, err := w.create(pod(name, container("c", limits))); err != nil {
			return err
		}
		p, err := w.bound(name)
		if err != nil {
			return err
		}
		shares, err := sharesOf(p)
		if err != nil {
			return err
		}
		var got []string
		for _, one := range shares[0] {
			got = append(got, one.uuid)
		}
		if p.Spec.NodeName != plan[at].Node || strings.Join(got, " ") != strings.Join(plan[at].Devices, " ") {
			return fmt.Errorf("%s has %v on %s; the plan says %+v", name, got, p.Spec.NodeName, plan[at])
		}
	}
	return nil
}

func snapshotted(w *world) error {
	for at := range 4 {
		name := fmt.Sprintf("p-%d", at)
		if _, err := w.create(pod(name, container("c", one(fmt.Sprint(10000+at), "30")))); err != nil {
			return err
		}
		if _, err := w.bound(name); err != nil {
			return err
		}
	}
	if _, err := w.create(pod("waits", container("c", one("90000", "30")))); err != nil {
		return err
	}
	if _, err := w.refused("waits"); err != nil {
		return err
	}
	file := filepath.Join(w.path(), w.space+".json")
	defer os.Remove(file)
	if _, err := w.tool(nil, "snapshot", "--cluster", "-o", file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var snapshot struct {
		Nodes       []any
		Allocations []struct{ Name string }
		Pending     []struct{ Name string }
	}
	if err := json.Unmarshal(text, &snapshot); err != nil {
		return err
	}
	if len(snapshot.Nodes) != checkNodes || len(snapshot.Allocations) != 4 ||
		len(snapshot.Pending) != 1 || snapshot.Pending[0].Name != w.space+"/waits" {
		return fmt.Errorf("the snapshot is %.1000s", text)
	}
	no, err := w.tool(&struct{}{}, "simulate", "replay", file, "--expect-same", "-o", "json")
	if err == nil && no {
		err = errors.New("replayed, it is not decided the same")
	}
	return err
}
