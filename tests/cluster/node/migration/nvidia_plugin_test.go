package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
)

const nvidiaProcess = "nvidia-device-plugin"

func init() {
	checks = append(checks,
		check{"kubelet-pods-of-nvidias-plugin-keep-their-cards",
			"NVIDIA's own device plugin is replaced by Divvy's agent, and that by it again, while pods of " +
				"both run: nothing starts again, a card that a pod of NVIDIA's has is given to nobody until " +
				"that pod ends",
			migratedFromNvidia})
}

// endProcess lets whoever serves the node's devices end, as a rollout does.
func (w *world) endProcess(name string) error {
	one, known := w.processes.find(name)
	if !known || !one.alive() {
		return nil
	}
	if err := syscall.Kill(one.Pid, syscall.SIGTERM); err != nil {
		return err
	}
	return one.end(stopBound)
}

// agentEnds is endProcess of the node's agent, and what it is begun anew with.
func (w *world) agentEnds() (nodeRecord, error) {
	record, err := w.readNodeRecord()
	if err != nil {
		return record, err
	}
	return record, w.endProcess(agentProcess)
}

// nvidiaServes runs NVIDIA's plugin on the simulated cards, and waits until the kubelet counts them.
func (w *world) nvidiaServes(build string) error {
	err := w.processes.start(nvidiaProcess, "/usr/bin/env", "LD_LIBRARY_PATH="+filepath.Join(build, "simgpu"),
		"SIMGPU_PROFILE="+strings.TrimPrefix(simulated, "sim-"), "SIMGPU_DIR="+w.path("divvy", simulated, "card"),
		w.nvidia, "--fail-on-init-error=true")
	if err != nil {
		return err
	}
	return w.until("the kubelet counts NVIDIA's cards", func() error {
		node, err := w.kubeletNode(w.ctx, core.NodeReady)
		if err != nil {
			return err
		}
		if count := node.Status.Allocatable["nvidia.com/gpu"]; count.Value() != 4 {
			return fmt.Errorf("it has %s; %s", count.String(), w.processes.tail(nvidiaProcess))
		}
		return nil
	})
}

// healthyCards are those that the node's registration offers.
func (w *world) healthyCards() (count int, err error) {
	node, err := w.kubeletNode(w.ctx, core.NodeReady)
	if err != nil {
		return 0, err
	}
	var cards []struct{ Health bool }
	if err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-register"]), &cards); err != nil {
		return 0, err
	}
	for _, one := range cards {
		if one.Health {
			count++
		}
	}
	return count, nil
}

func (w *world) offers(cards int) error {
	return w.until(fmt.Sprintf("%d cards are offered", cards), func() error {
		count, err := w.healthyCards()
		if err == nil && count != cards {
			err = fmt.Errorf("%d are; %s", count, w.processes.tail(agentProcess))
		}
		return err
	})
}

// nvidiaPod has a whole card of NVIDIA's plugin, as it was before Divvy came: nobody of ours saw it.
func (w *world) nvidiaPod(name string) error {
	p := probe(name, asks{"nvidia.com/gpu": "1"})
	p.Labels = map[string]string{"hami.io/webhook": "ignore"}
	p.Spec.SchedulerName = "default-scheduler"
	c := &p.Spec.Containers[0]
	c.Image, c.Command = pauseImage, []string{"/pause"}
	// API servers hear of a policy that is off a moment later.
	err := w.until(name+" is let in", func() error {
		_, err := w.create(p)
		return err
	})
	if err != nil {
		return err
	}
	return w.runs(name)
}

func migratedFromNvidia(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	if w.nvidia == "" {
		return skip{errors.New("NVIDIA's device plugin is not built here (--nvidia)")}
	}
	if _, err := os.Stat(w.nvidia); err != nil {
		return err
	}
	record, err := w.agentEnds()
	if err != nil {
		return err
	}
	// However it ends, whoever comes next finds Divvy's agent.
	defer func() {
		err = errors.Join(err, w.endProcess(nvidiaProcess))
		if one, known := w.processes.find(agentProcess); !known || !one.alive() {
			err = errors.Join(err, w.agentBegins(record.Build))
		}
	}()
	if err := w.nvidiaServes(record.Build); err != nil {
		return err
	}
	// As it was before our policies were there.
	if err := w.withoutPolicies(func() error { return w.nvidiaPod("theirs") }); err != nil {
		return err
	}
	if err := w.endProcess(nvidiaProcess); err != nil {
		return err
	}
	// There: three cards are left, and three pods that want whole ones have room.
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	if err := w.offers(3); err != nil {
		return err
	}
	whole := asks{"nvidia.com/gpu": "1"}
	for at := range 4 {
		p := probe(fmt.Sprintf("ours-%d", at), whole)
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := w.create(p); err != nil {
			return err
		}
		if at < 3 {
			if err := w.runs(p.Name); err != nil {
				return err
			}
		}
	}
	if _, err := w.refused("ours-3"); err != nil {
		return err
	}
	if err := w.stillWorks("theirs"); err != nil {
		return err
	}
	if err := w.remove("theirs"); err != nil {
		return err
	}
	if err := w.offers(4); err != nil {
		return err
	}
	if err := w.runs("ours-3"); err != nil {
		return err
	}
	// And back: what Divvy gave stays given.
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	if err := w.nvidiaServes(record.Build); err != nil {
		return err
	}
	for at := range 4 {
		if err := w.stillWorks(fmt.Sprintf("ours-%d", at)); err != nil {
			return err
		}
	}
	if err := w.endProcess(nvidiaProcess); err != nil {
		return err
	}
	w.note = "NVIDIA's plugin, " + nvidiaVersion()
	return w.agentBegins(record.Build)
}

// nvidiaVersion is what tests/third_party/nvidia names.
func nvidiaVersion() string {
	text, err := os.ReadFile("tests/third_party/nvidia/go.mod")
	if err != nil {
		return err.Error()
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "github.com/NVIDIA/k8s-device-plugin "); found {
			rest, _, _ = strings.Cut(rest, " ")
			return rest
		}
	}
	return "of no version that is known"
}
