package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
)

const (
	volcanoProcess   = "volcano-scheduler"
	volcanoGroups    = "/apis/scheduling.volcano.sh/v1beta1"
	volcanoAssigned  = "volcano.sh/vgpu-ids-new"
	volcanoRegister  = "volcano.sh/node-vgpu-register"
	volcanoHandshake = "volcano.sh/node-vgpu-handshake"
	volcanoLock      = "hamivgpu"
)

func init() {
	checks = append(checks,
		check{"kubelet-volcanos-scheduler-places",
			"Volcano's own scheduler places pods on Divvy's cards (--dialect volcano), a gang at once, and each " +
				"container is held to what it gave; it writes nothing into a node where nothing happens; its node " +
				"locks hold up no pod, and the agent says what they do to gangs; under Divvy's own dialect it " +
				"finds no card",
			underVolcanosScheduler})
}

// %t: pods of a node wait in turn. A gang on one node is to be had without only: Volcano binds a member that
// finds the node locked all the same, without its annotation.
const volcanoTerms = `actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.NodeLockEnable: %t
  - name: predicates
  - name: proportion
  - name: nodeorder
`

// volcanoBegins lets agents announce memory, which Volcano counts, makes its kinds known and has its scheduler run;
// what it returns ends the last two, and is nil where neither has begun.
func (w *world) volcanoBegins() (func() error, error) {
	if w.volcano == "" {
		return nil, skip{errors.New("Volcano's scheduler is not built here (--volcano)")}
	}
	kinds, err := filepath.Glob(filepath.Join(filepath.Dir(w.volcano), "volcano-crds", "*.yaml"))
	if err == nil && len(kinds) == 0 {
		err = fmt.Errorf("no kinds of Volcano's beside %s", w.volcano)
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, kind := range kinds {
		files = append(files, "-f", kind)
	}
	end := func() error {
		return errors.Join(w.endProcess(volcanoProcess), os.RemoveAll(w.path("volcano.yaml")),
			w.kubectl(w.ctx, append([]string{"delete", "--ignore-not-found"}, files...)...))
	}
	// Some are too large for what a client's apply notes of them.
	if err := w.kubectl(w.ctx, append([]string{"apply", "--server-side"}, files...)...); err != nil {
		return end, err
	}
	if err := w.volcanoRuns(false); err != nil {
		return end, err
	}
	return end, w.until("Volcano has made its queue", func() error {
		rest := w.client.CoreV1().RESTClient()
		err := rest.Get().AbsPath(volcanoGroups, "queues", "default").Do(w.ctx).Error()
		if err != nil {
			err = fmt.Errorf("%w; %s", err, w.processes.tail(volcanoProcess))
		}
		return err
	})
}

func (w *world) volcanoRuns(locks bool) error {
	terms := w.path("volcano.yaml")
	if err := os.WriteFile(terms, fmt.Appendf(nil, volcanoTerms, locks), 0o644); err != nil {
		return err
	}
	var port int
	if err := chooseInto(&port); err != nil {
		return err
	}
	return w.processes.start(volcanoProcess, "/usr/bin/env", "KUBECONFIG="+w.path("kubeconfig"), w.volcano,
		"--kubeconfig", w.path("kubeconfig"), "--scheduler-conf", terms, "--leader-elect=false",
		"--cache-dumper=false", "--logtostderr", fmt.Sprintf("--listen-address=127.0.0.1:%d", port))
}

// podGroup of so many that are placed at once, or not at all.
func (w *world) podGroup(name string, members int) error {
	body, err := json.Marshal(map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": map[string]string{"name": name},
		"spec":     map[string]any{"minMember": members, "queue": "default"}})
	if err != nil {
		return err
	}
	return w.client.CoreV1().RESTClient().Post().AbsPath(volcanoGroups, "namespaces", w.space, "podgroups").
		SetHeader("Content-Type", "application/json").Body(body).Do(w.ctx).Error()
}

// ofVolcano is a probe that Volcano places, in a group.
func ofVolcano(name, group string, limits asks, args ...string) *core.Pod {
	p := annotated(probe(name, limits), "scheduling.k8s.io/group-name", group)
	p.Spec.SchedulerName = "volcano"
	p.Spec.Containers[0].Args = args
	return p
}

// byVolcano makes such a pod with a group of its own.
func (w *world) byVolcano(name string, limits asks, args ...string) error {
	if err := w.podGroup(name, 1); err != nil {
		return err
	}
	_, err := w.create(ofVolcano(name, name, limits, args...))
	return err
}

func vgpu(memory, cores string) asks {
	return asks{volcanoCount: "1", "volcano.sh/vgpu-memory": memory, "volcano.sh/vgpu-cores": cores}
}

func (w *world) volcanoRefuses(name, words string) error {
	return w.until("Volcano refuses "+name, func() error {
		p, err := w.get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("it is on %s", p.Spec.NodeName)
		}
		if why := unscheduled(p); why == "" || !strings.Contains(why, words) {
			return fmt.Errorf("it says %q; %s", why, w.processes.tail(volcanoProcess))
		}
		return nil
	})
}

// announced: the node's status says how much its cards have together.
func (w *world) announced(want map[string]int64) error {
	return w.until("the node says what can be asked for", func() error {
		node, err := w.kubeletNode(w.ctx, core.NodeReady)
		if err != nil {
			return err
		}
		for name, amount := range want {
			if has := node.Status.Allocatable[core.ResourceName(name)]; has.Value() != amount {
				return fmt.Errorf("it has %s of %s, not %d; %s", has.String(), name, amount,
					w.processes.tail(agentProcess))
			}
		}
		return nil
	})
}

// toldVolcano is how many MiB the node's cards are said to have together.
func (w *world) toldVolcano() (sum int64, err error) {
	err = w.until("the node is registered with Volcano", func() error {
		text, _, err := w.nodeNote(volcanoRegister)
		if err != nil {
			return err
		}
		devices := strings.Split(strings.TrimSuffix(text, ":"), ":")
		if len(devices) != 4 {
			return fmt.Errorf("it says %q", text)
		}
		sum = 0
		for _, one := range devices {
			fields := strings.Split(one, ",")
			if len(fields) != 6 {
				return fmt.Errorf("it says %q", one)
			}
			memory, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				return err
			}
			sum += memory
		}
		return nil
	})
	return sum, err
}

func (w *world) nodeNote(key string) (string, bool, error) {
	node, err := w.kubeletNode(w.ctx, core.NodeReady)
	if err != nil {
		return "", false, err
	}
	text, there := node.Annotations[key]
	return text, there, nil
}

func underVolcanosScheduler(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	end, err := w.volcanoBegins()
	if end != nil {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	// The control: the same pods, and an agent that does not speak to Volcano.
	if err := w.byVolcano("early", vgpu("2000", "10")); err != nil {
		return err
	}
	if err := w.volcanoRefuses("early", ""); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.backFromVolcano(record.Build))
		}
	}()
	if err := w.agentBegins(record.Build, "--dialect", "volcano"); err != nil {
		return err
	}
	memory, err := w.toldVolcano()
	if err == nil {
		err = w.announced(map[string]int64{volcanoCount: 40, "volcano.sh/vgpu-memory": memory,
			"volcano.sh/vgpu-cores": 400})
	}
	if err != nil {
		return err
	}
	said, err := w.ended("early", 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	for _, run := range []func() error{w.volcanosGang, w.volcanosPercent, w.volcanosFullCards,
		w.volcanosTurns} {
		if err := run(); err != nil {
			return err
		}
	}
	text, _, err := w.nodeNote(volcanoHandshake)
	if err == nil && !strings.HasPrefix(text, "Requesting_2999.12.31 23:59:59") {
		err = fmt.Errorf("Volcano wrote %q into the node", text)
	}
	if err == nil {
		err = w.backFromVolcano(record.Build)
	}
	if err != nil {
		return err
	}
	return w.volcanosPodsStay()
}

// volcanosGang: one of two waits for the other.
func (w *world) volcanosGang() error {
	if err := w.podGroup("gang", 2); err != nil {
		return err
	}
	if _, err := w.create(ofVolcano("gang-0", "gang", vgpu("3000", "10"))); err != nil {
		return err
	}
	if err := w.volcanoRefuses("gang-0", "group is not ready"); err != nil {
		return err
	}
	if _, err := w.create(ofVolcano("gang-1", "gang", vgpu("3000", "10"))); err != nil {
		return err
	}
	for _, name := range []string{"gang-0", "gang-1"} {
		said, err := w.ended(name, 0)
		if err == nil {
			err = said.limited(3000 << 20)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// volcanosPercent: Volcano itself writes 0 MiB then.
func (w *world) volcanosPercent() error {
	half := asks{volcanoCount: "1", "volcano.sh/vgpu-memory-percentage": "50"}
	if err := w.byVolcano("half", half); err != nil {
		return err
	}
	said, err := w.ended("half", 0)
	if err != nil {
		return err
	}
	whole := uint64(80 << 30)
	if total := said["total"]; total < whole*45/100 || total > whole*51/100 {
		return fmt.Errorf("half of a card is %d bytes", total)
	}
	p, err := w.get("half")
	if err == nil && !strings.Contains(p.Annotations[volcanoAssigned], ",0,0:") {
		w.note = fmt.Sprintf("Volcano gave half a card as %q", p.Annotations[volcanoAssigned])
	}
	return err
}

// volcanosFullCards: four cards have room for four, and for a fifth once one of them is gone.
func (w *world) volcanosFullCards() error {
	cards := map[string]string{}
	for at := range 5 {
		name := fmt.Sprintf("large-%d", at)
		if err := w.byVolcano(name, vgpu("50000", "10"), "stay"); err != nil {
			return err
		}
		if at == 4 {
			break
		}
		if err := w.runs(name); err != nil {
			return err
		}
		p, err := w.get(name)
		if err != nil {
			return err
		}
		card, _, _ := strings.Cut(p.Annotations[volcanoAssigned], ",")
		if other, taken := cards[card]; taken {
			return fmt.Errorf("%s and %s are on %s", name, other, card)
		}
		cards[card] = name
	}
	// Volcano counts a pod that it has just placed twice, until the node changes: a card with 50000 of 81559 MiB
	// would have no room for this one.
	if err := w.byVolcano("beside", vgpu("20000", "10"), "stay"); err != nil {
		return err
	}
	if err := w.runs("beside"); err != nil {
		return err
	}
	if err := w.remove("beside"); err != nil {
		return err
	}
	if err := w.volcanoRefuses("large-4", ""); err != nil {
		return err
	}
	if err := w.remove("large-2"); err != nil {
		return err
	}
	return w.runs("large-4")
}

// volcanosTurns: with node locks, which Volcano's own device plugin takes off when a container is made. Ours does
// so at once: the next pod finds the node free.
func (w *world) volcanosTurns() error {
	mark := w.agentLogs()
	if err := w.endProcess(volcanoProcess); err != nil {
		return err
	}
	if err := w.volcanoRuns(true); err != nil {
		return err
	}
	for _, name := range []string{"turn-0", "turn-1"} {
		if err := w.byVolcano(name, vgpu("3000", "10"), "stay"); err != nil {
			return err
		}
		if err := w.runs(name); err != nil {
			return err
		}
		if err := w.noLock(); err != nil {
			return err
		}
		if err := w.remove(name); err != nil {
			return err
		}
	}
	// Once, and not before there were any.
	return w.agentSays("switch deviceshare.NodeLockEnable off", mark)
}

func (w *world) noLock() error {
	return w.until("the node is not locked", func() error {
		text, there, err := w.nodeNote(volcanoLock)
		if err == nil && there {
			err = fmt.Errorf("it is since %s; %s", text, w.processes.tail(agentProcess))
		}
		return err
	})
}

// Divvy's scheduler knows nothing of these pods: their cards are not offered to it while they run.
func (w *world) volcanosPodsStay() error {
	if err := w.offers(0); err != nil {
		return err
	}
	for at := range 5 {
		if at == 2 {
			continue
		}
		name := fmt.Sprintf("large-%d", at)
		if err := w.stillWorks(name); err != nil {
			return err
		}
		if err := w.remove(name); err != nil {
			return err
		}
	}
	return w.offers(4)
}

// backFromVolcano: nothing that Volcano would place by is left.
func (w *world) backFromVolcano(build string) error {
	if err := w.agentBegins(build); err != nil {
		return err
	}
	return w.until("nothing of Volcano's is left in the node", func() error {
		for _, key := range []string{volcanoRegister, volcanoHandshake, volcanoLock} {
			if text, there, err := w.nodeNote(key); err != nil || there {
				return errors.Join(err, fmt.Errorf("%s: %s", key, text))
			}
		}
		return nil
	})
}
