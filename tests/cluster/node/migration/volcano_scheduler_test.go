package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

const (
	volcanoProcess = "volcano-scheduler"
	volcanoGroups  = "/apis/scheduling.volcano.sh/v1beta1"
)

const (
	volcanoRegister  = "volcano.sh/node-vgpu-register"
	volcanoHandshake = "volcano.sh/node-vgpu-handshake"
	volcanoLock      = "hamivgpu"
)

func TestVolcanoScheduler(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-volcanos-scheduler-places",
			Requirement: "Volcano's own scheduler places pods on Divvy's cards (--dialect volcano), a gang at once, and each " +
				"container is held to what it gave; it writes nothing into a node where nothing happens; its node " +
				"locks hold up no pod, and the agent says what they do to gangs; under Divvy's own dialect it " +
				"finds no card",
			Run: underVolcanosScheduler})
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
func volcanoBegins(env *harness.Env) (func() error, error) {
	if env.Volcano == "" {
		return nil, harness.Skip{Cause: errors.New("Volcano's scheduler is not built here (--volcano)")}
	}
	kinds, err := filepath.Glob(filepath.Join(filepath.Dir(env.Volcano), "volcano-crds", "*.yaml"))
	if err == nil && len(kinds) == 0 {
		err = fmt.Errorf("no kinds of Volcano's beside %s", env.Volcano)
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, kind := range kinds {
		files = append(files, "-f", kind)
	}
	end := func() error {
		return errors.Join(env.StopProcess(volcanoProcess), os.RemoveAll(env.Path("volcano.yaml")),
			env.Kubectl(env.Ctx, append([]string{"delete", "--ignore-not-found"}, files...)...))
	}
	// Some are too large for what a client's apply notes of them.
	if err := env.Kubectl(env.Ctx, append([]string{"apply", "--server-side"}, files...)...); err != nil {
		return end, err
	}
	if err := volcanoRuns(env, false); err != nil {
		return end, err
	}
	return end, env.WaitFor("Volcano has made its queue", func() error {
		rest := env.Client.CoreV1().RESTClient()
		err := rest.Get().AbsPath(volcanoGroups, "queues", "default").Do(env.Ctx).Error()
		if err != nil {
			err = fmt.Errorf("%w; %s", err, env.Processes.Tail(volcanoProcess))
		}
		return err
	})
}

func volcanoRuns(env *harness.Env, locks bool) error {
	terms := env.Path("volcano.yaml")
	if err := os.WriteFile(terms, fmt.Appendf(nil, volcanoTerms, locks), 0o644); err != nil {
		return err
	}
	var port int
	if err := harness.ChooseFreePorts(&port); err != nil {
		return err
	}
	return env.Processes.Start(volcanoProcess, "/usr/bin/env", "KUBECONFIG="+env.Path("kubeconfig"), env.Volcano,
		"--kubeconfig", env.Path("kubeconfig"), "--scheduler-conf", terms, "--leader-elect=false",
		"--cache-dumper=false", "--logtostderr", fmt.Sprintf("--listen-address=127.0.0.1:%d", port))
}

// podGroup of so many that are placed at once, or not at all.
func podGroup(env *harness.Env, name string, members int) error {
	body, err := json.Marshal(map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": map[string]string{"name": name},
		"spec":     map[string]any{"minMember": members, "queue": "default"}})
	if err != nil {
		return err
	}
	return env.Client.CoreV1().RESTClient().Post().AbsPath(volcanoGroups, "namespaces", env.Namespace, "podgroups").
		SetHeader("Content-Type", "application/json").Body(body).Do(env.Ctx).Error()
}

// ofVolcano is a probe that Volcano places, in a group.
func ofVolcano(name, group string, limits harness.Limits, args ...string) *core.Pod {
	p := harness.WithAnnotations(harness.ProbePod(name, limits), "scheduling.k8s.io/group-name", group)
	p.Spec.SchedulerName = "volcano"
	p.Spec.Containers[0].Args = args
	return p
}

// byVolcano makes such a pod with a group of its own.
func byVolcano(env *harness.Env, name string, limits harness.Limits, args ...string) error {
	if err := podGroup(env, name, 1); err != nil {
		return err
	}
	_, err := env.Create(ofVolcano(name, name, limits, args...))
	return err
}

func vgpu(memory, cores string) harness.Limits {
	return harness.Limits{volcanoCount: "1", "volcano.sh/vgpu-memory": memory, "volcano.sh/vgpu-cores": cores}
}

func volcanoRefuses(env *harness.Env, name, words string) error {
	return env.WaitFor("Volcano refuses "+name, func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("it is on %s", p.Spec.NodeName)
		}
		if why := harness.UnschedulableMessage(p); why == "" || !strings.Contains(why, words) {
			return fmt.Errorf("it says %q; %s", why, env.Processes.Tail(volcanoProcess))
		}
		return nil
	})
}

// toldVolcano is how many MiB the node's cards are said to have together.
func toldVolcano(env *harness.Env) (sum int64, err error) {
	err = env.WaitFor("the node is registered with Volcano", func() error {
		text, _, err := env.NodeAnnotation(volcanoRegister)
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

func underVolcanosScheduler(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	end, err := volcanoBegins(env)
	if end != nil {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	// The control: the same pods, and an agent that does not speak to Volcano.
	if err := byVolcano(env, "early", vgpu("2000", "10")); err != nil {
		return err
	}
	if err := volcanoRefuses(env, "early", ""); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, backFromVolcano(env, record.Build))
		}
	}()
	if err := env.RestartAgent(record.Build, "--dialect", "volcano"); err != nil {
		return err
	}
	memory, err := toldVolcano(env)
	if err == nil {
		err = env.WaitNodeResources(map[string]int64{volcanoCount: 40, "volcano.sh/vgpu-memory": memory,
			"volcano.sh/vgpu-cores": 400})
	}
	if err != nil {
		return err
	}
	said, err := env.WaitResult("early", 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	for _, run := range []func() error{func() error { return volcanosGang(env) },
		func() error { return volcanosPercent(env) }, func() error { return volcanosFullCards(env) },
		func() error { return volcanosTurns(env) }} {
		if err := run(); err != nil {
			return err
		}
	}
	text, _, err := env.NodeAnnotation(volcanoHandshake)
	if err == nil && !strings.HasPrefix(text, "Requesting_2999.12.31 23:59:59") {
		err = fmt.Errorf("Volcano wrote %q into the node", text)
	}
	if err == nil {
		err = backFromVolcano(env, record.Build)
	}
	if err != nil {
		return err
	}
	return volcanosPodsStay(env)
}

// volcanosGang: one of two waits for the other.
func volcanosGang(env *harness.Env) error {
	if err := podGroup(env, "gang", 2); err != nil {
		return err
	}
	if _, err := env.Create(ofVolcano("gang-0", "gang", vgpu("3000", "10"))); err != nil {
		return err
	}
	if err := volcanoRefuses(env, "gang-0", "group is not ready"); err != nil {
		return err
	}
	if _, err := env.Create(ofVolcano("gang-1", "gang", vgpu("3000", "10"))); err != nil {
		return err
	}
	for _, name := range []string{"gang-0", "gang-1"} {
		said, err := env.WaitResult(name, 0)
		if err == nil {
			err = said.Limited(3000 << 20)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// volcanosPercent: Volcano itself writes 0 MiB then.
func volcanosPercent(env *harness.Env) error {
	half := harness.Limits{volcanoCount: "1", "volcano.sh/vgpu-memory-percentage": "50"}
	if err := byVolcano(env, "half", half); err != nil {
		return err
	}
	said, err := env.WaitResult("half", 0)
	if err != nil {
		return err
	}
	whole := uint64(80 << 30)
	if total := said["total"]; total < whole*45/100 || total > whole*51/100 {
		return fmt.Errorf("half of a card is %d bytes", total)
	}
	p, err := env.Get("half")
	if err == nil && !strings.Contains(p.Annotations[harness.VolcanoAssigned], ",0,0:") {
		env.Note = fmt.Sprintf("Volcano gave half a card as %q", p.Annotations[harness.VolcanoAssigned])
	}
	return err
}

// volcanosFullCards: four cards have room for four, and for a fifth once one of them is gone.
func volcanosFullCards(env *harness.Env) error {
	cards := map[string]string{}
	for at := range 5 {
		name := fmt.Sprintf("large-%d", at)
		if err := byVolcano(env, name, vgpu("50000", "10"), "stay"); err != nil {
			return err
		}
		if at == 4 {
			break
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		card, _, _ := strings.Cut(p.Annotations[harness.VolcanoAssigned], ",")
		if other, taken := cards[card]; taken {
			return fmt.Errorf("%s and %s are on %s", name, other, card)
		}
		cards[card] = name
	}
	// Volcano counts a pod that it has just placed twice, until the node changes: a card with 50000 of 81559 MiB
	// would have no room for this one.
	if err := byVolcano(env, "beside", vgpu("20000", "10"), "stay"); err != nil {
		return err
	}
	if err := env.WaitRunning("beside"); err != nil {
		return err
	}
	if err := env.Delete("beside"); err != nil {
		return err
	}
	if err := volcanoRefuses(env, "large-4", ""); err != nil {
		return err
	}
	if err := env.Delete("large-2"); err != nil {
		return err
	}
	return env.WaitRunning("large-4")
}

// volcanosTurns: with node locks, which Volcano's own device plugin takes off when a container is made. Ours does
// so at once: the next pod finds the node free.
func volcanosTurns(env *harness.Env) error {
	mark := env.AgentLogSize()
	if err := env.StopProcess(volcanoProcess); err != nil {
		return err
	}
	if err := volcanoRuns(env, true); err != nil {
		return err
	}
	for _, name := range []string{"turn-0", "turn-1"} {
		if err := byVolcano(env, name, vgpu("3000", "10"), "stay"); err != nil {
			return err
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
		if err := noLock(env); err != nil {
			return err
		}
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	// Once, and not before there were any.
	return env.WaitAgentLog("set deviceshare.NodeLockEnable to false", mark)
}

func noLock(env *harness.Env) error {
	return env.WaitFor("the node is not locked", func() error {
		text, there, err := env.NodeAnnotation(volcanoLock)
		if err == nil && there {
			err = fmt.Errorf("it is since %s; %s", text, env.Processes.Tail(harness.AgentProcess))
		}
		return err
	})
}

// Divvy's scheduler knows nothing of these pods: their cards are not offered to it while they run.
func volcanosPodsStay(env *harness.Env) error {
	if err := env.WaitHealthyDevices(0); err != nil {
		return err
	}
	for at := range 5 {
		if at == 2 {
			continue
		}
		name := fmt.Sprintf("large-%d", at)
		if err := env.StillRunning(name); err != nil {
			return err
		}
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	return env.WaitHealthyDevices(4)
}

// backFromVolcano: nothing that Volcano would place by is left.
func backFromVolcano(env *harness.Env, build string) error {
	if err := env.RestartAgent(build); err != nil {
		return err
	}
	return env.WaitFor("nothing of Volcano's is left in the node", func() error {
		for _, key := range []string{volcanoRegister, volcanoHandshake, volcanoLock} {
			if text, there, err := env.NodeAnnotation(key); err != nil || there {
				return errors.Join(err, fmt.Errorf("%s: %s", key, text))
			}
		}
		return nil
	})
}
