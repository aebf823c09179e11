package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
)

const hamiProcess = "hami-device-plugin"

func init() {
	checks = append(checks,
		check{"kubelet-pods-of-hamis-plugin-keep-their-cards",
			"a plugin that does to a node what HAMi's does is replaced by Divvy's agent, and that by it again, while pods " +
				"of both run: nothing starts again, a card that its pods share is given to nobody until they end; " +
				"the pods have HAMi's words, and Divvy's scheduler places them for either; all policies are in force, with " +
				"that plugin's account named in them, and who is not named is refused",
			migratedFromHami})
}

// hamiServes begins the plugin, with the pod that its DaemonSet would be: by that schedulers know that
// the node has to be locked.
func (w *world) hamiServes(plugin pluginAccount) error {
	daemon := holding(probe("hami-plugin", nil))
	daemon.Labels = map[string]string{"app.kubernetes.io/component": "hami-device-plugin"}
	daemon.Spec.NodeName = kubeletNode
	if _, err := w.create(daemon); err != nil {
		return err
	}
	if err := w.runs(daemon.Name); err != nil {
		return err
	}
	terms, err := w.hamiTerms()
	if err != nil {
		return err
	}
	return w.pluginServes(hamiProcess, plugin, terms)
}

// pluginBegins begins such a plugin as that process, with that account's token.
func (w *world) pluginBegins(process, kubeconfig string, terms pluginTerms) error {
	text, err := json.Marshal(terms)
	if err != nil {
		return err
	}
	file := w.path("log", process+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return w.processes.start(process, program, "hami-plugin", "--kubeconfig", kubeconfig, "--node", kubeletNode,
		"--terms", file, "--dir", filepath.Join(kubeletDir, "device-plugins"))
}

// pluginServes begins it and waits until the kubelet counts its units.
func (w *world) pluginServes(process string, plugin pluginAccount, terms pluginTerms) error {
	before := w.pluginRegistrations(process)
	if err := w.pluginBegins(process, plugin.kubeconfig, terms); err != nil {
		return err
	}
	return w.until("the kubelet counts its units", func() error {
		if w.pluginRegistrations(process) == before {
			return errors.New(w.processes.tail(process))
		}
		node, err := w.kubeletNode(w.ctx, core.NodeReady)
		if err != nil {
			return err
		}
		count := node.Status.Allocatable[core.ResourceName(terms.Resource)]
		if count.Value() != int64(len(terms.Cards)*hamiSplit) {
			return fmt.Errorf("there are %s", count.String())
		}
		return nil
	})
}

// pluginRegistrations is how often such a plugin said that the kubelet knows it.
func (w *world) pluginRegistrations(process string) int {
	text, err := os.ReadFile(w.processes.log(process))
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "the kubelet knows")
}

// hamiTerms is what its plugin is told of the simulated cards, as whose agent ended last had them; of a device
// that is well and first "index" and "numa" are left out.
func (w *world) hamiTerms() (pluginTerms, error) {
	terms := pluginTerms{Resource: "nvidia.com/gpu", ToAllocate: "hami.io/vgpu-devices-to-allocate", Word: "NVIDIA",
		Visible: "NVIDIA_VISIBLE_DEVICES", Memory: "CUDA_DEVICE_MEMORY_LIMIT_", Cores: "CUDA_DEVICE_SM_LIMIT"}
	node, err := w.kubeletNode(w.ctx, core.NodeReady)
	if err != nil {
		return terms, err
	}
	const key = "hami.io/node-nvidia-register"
	var said []struct {
		ID, Type string
		Devmem   int
	}
	if err := json.Unmarshal([]byte(node.Annotations[key]), &said); err != nil {
		return terms, err
	}
	var devices []map[string]any
	for at, card := range said {
		one := map[string]any{"id": card.ID, "count": hamiSplit, "devmem": card.Devmem, "devcore": 100,
			"type": card.Type, "mode": "hami-core", "health": true}
		if at > 0 {
			one["index"] = at
		}
		devices = append(devices, one)
		terms.Cards = append(terms.Cards, card.ID)
	}
	text, err := json.Marshal(devices)
	terms.Register = map[string]string{key: string(text)}
	return terms, err
}

func (w *world) hamiEnds() error {
	return errors.Join(w.endProcess(hamiProcess), w.remove("hami-plugin"), w.until("its pod is gone", func() error {
		if _, err := w.get("hami-plugin"); err == nil {
			return errors.New("it is there")
		}
		return nil
	}))
}

// hamisPod is a share of that card that HAMi's plugin hands out, and has handed out.
func (w *world) hamisPod(name, uuid string) error {
	// Without HAMi's library nothing limits what its programs take.
	p := holding(annotated(probe(name, one("2000", "10")), "nvidia.com/use-gpuuuid", uuid))
	if _, err := w.create(p); err != nil {
		return err
	}
	if err := w.runs(name); err != nil {
		return errors.Join(err, errors.New(w.processes.tail(hamiProcess)))
	}
	now, err := w.get(name)
	if err != nil {
		return err
	}
	lock, err := w.lockOf(kubeletNode)
	if phase := now.Annotations["hami.io/bind-phase"]; err == nil && (phase != "success" || lock != "") {
		err = fmt.Errorf("%s is %q, and the node's lock %q", name, phase, lock)
	}
	if on, other := w.onCard(name); err == nil && (other != nil || on != uuid) {
		err = errors.Join(other, fmt.Errorf("%s is on %s, not %s", name, on, uuid))
	}
	return err
}

func migratedFromHami(w *world) (err error) {
	record, uuids, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	// However it ends, whoever comes next finds Divvy's agent.
	defer func() {
		err = errors.Join(err, w.endProcess(hamiProcess))
		if one, known := w.processes.find(agentProcess); !known || !one.alive() {
			err = errors.Join(err, w.agentBegins(record.Build), w.emptied())
		}
	}()
	return w.besidePolicies(func(plugin, stranger pluginAccount) error {
		if err := w.fromHami(record.Build, uuids, plugin, stranger); err != nil {
			return err
		}
		return w.backToHami(record.Build, uuids, plugin)
	})
}

// fromHami: two of its pods share a card.
func (w *world) fromHami(build string, uuids []string, plugin, stranger pluginAccount) error {
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	terms, err := w.hamiTerms()
	if err == nil {
		err = w.strangerServes(stranger, terms)
	}
	if err != nil {
		return err
	}
	if err := w.hamiServes(plugin); err != nil {
		return err
	}
	for _, name := range []string{"theirs-0", "theirs-1"} {
		if err := w.hamisPod(name, uuids[0]); err != nil {
			return err
		}
	}
	if err := w.hamiEnds(); err != nil {
		return err
	}
	if err := w.agentBegins(build); err != nil {
		return err
	}
	if err := w.offers(len(uuids) - 1); err != nil {
		return err
	}
	p := annotated(probe("beside", one("1000", "10")), "nvidia.com/use-gpuuuid", uuids[0])
	if _, err := w.create(p); err != nil {
		return err
	}
	if _, err := w.refused("beside"); err != nil {
		return err
	}
	for _, name := range []string{"theirs-0", "theirs-1"} {
		if err := w.stillWorks(name); err != nil {
			return err
		}
		if err := w.offers(len(uuids) - 1); err != nil {
			return err
		}
		if err := w.remove(name); err != nil {
			return err
		}
	}
	if err := w.offers(len(uuids)); err != nil {
		return err
	}
	said, err := w.ended("beside", 0)
	if err == nil {
		err = said.limited(1000 << 20)
	}
	return err
}

// backToHami: what Divvy gave stays given, and is counted for who comes then.
func (w *world) backToHami(build string, uuids []string, plugin pluginAccount) error {
	whole := annotated(probe("ours", asks{"nvidia.com/gpu": "1"}), "nvidia.com/use-gpuuuid", uuids[1])
	whole.Spec.Containers[0].Args = []string{"stay"}
	if _, err := w.create(whole); err != nil {
		return err
	}
	if err := w.runs("ours"); err != nil {
		return err
	}
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	if err := w.hamiServes(plugin); err != nil {
		return err
	}
	if _, err := w.create(annotated(probe("no-room", one("1000", "10")), "nvidia.com/use-gpuuuid", uuids[1])); err != nil {
		return err
	}
	if _, err := w.refusedFor("no-room", "memory"); err != nil {
		return fmt.Errorf("on the card of ours: %w", err)
	}
	if err := w.hamisPod("theirs-2", uuids[2]); err != nil {
		return err
	}
	if err := w.stillWorks("ours"); err != nil {
		return err
	}
	if err := w.hamiEnds(); err != nil {
		return err
	}
	if err := w.agentBegins(build); err != nil {
		return err
	}
	if err := w.emptied(); err != nil {
		return err
	}
	return w.offers(len(uuids))
}
