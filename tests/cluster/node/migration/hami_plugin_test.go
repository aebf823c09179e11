package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

const hamiProcess = "hami-device-plugin"

func TestHamiPlugin(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-pods-of-hamis-plugin-keep-their-cards",
			Requirement: "a plugin that does to a node what HAMi's does is replaced by Divvy's agent, and that by it again, while pods " +
				"of both run: nothing starts again, a card that its pods share is given to nobody until they end; " +
				"the pods have HAMi's words, and Divvy's scheduler places them for either; all policies are in force, with " +
				"that plugin's account named in them, and who is not named is refused",
			Run: migratedFromHami})
}

// hamiServes begins the plugin, with the pod that its DaemonSet would be: by that schedulers know that
// the node has to be locked.
func hamiServes(env *harness.Env, plugin harness.PluginAccount) error {
	daemon := harness.IdlePod(harness.ProbePod("hami-plugin", nil))
	daemon.Labels = map[string]string{"app.kubernetes.io/component": "hami-device-plugin"}
	daemon.Spec.NodeName = harness.KubeletNode
	if _, err := env.Create(daemon); err != nil {
		return err
	}
	if err := env.WaitRunning(daemon.Name); err != nil {
		return err
	}
	terms, err := hamiTerms(env)
	if err != nil {
		return err
	}
	return pluginServes(env, hamiProcess, plugin, terms)
}

// pluginServes begins it and waits until the kubelet counts its units.
func pluginServes(env *harness.Env, process string, plugin harness.PluginAccount, terms harness.PluginTerms) error {
	before := pluginRegistrations(env, process)
	if err := env.StartPlugin(process, plugin.Kubeconfig, terms); err != nil {
		return err
	}
	return env.WaitFor("the kubelet counts its units", func() error {
		if pluginRegistrations(env, process) == before {
			return errors.New(env.Processes.Tail(process))
		}
		node, err := env.KubeletNode(env.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		count := node.Status.Allocatable[core.ResourceName(terms.Resource)]
		if count.Value() != int64(len(terms.Cards)*harness.HamiSplit) {
			return fmt.Errorf("there are %s", count.String())
		}
		return nil
	})
}

// pluginRegistrations is how often such a plugin said that the kubelet knows it.
func pluginRegistrations(env *harness.Env, process string) int {
	text, err := os.ReadFile(env.Processes.Log(process))
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "the kubelet knows")
}

// hamiTerms is what its plugin is told of the simulated cards, as whose agent ended last had them; of a device
// that is well and first "index" and "numa" are left out.
func hamiTerms(env *harness.Env) (harness.PluginTerms, error) {
	terms := harness.PluginTerms{Resource: "nvidia.com/gpu", ToAllocate: "hami.io/vgpu-devices-to-allocate",
		Word:    "NVIDIA",
		Visible: "NVIDIA_VISIBLE_DEVICES", Memory: "CUDA_DEVICE_MEMORY_LIMIT_", Cores: "CUDA_DEVICE_SM_LIMIT"}
	node, err := env.KubeletNode(env.Ctx, core.NodeReady)
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
		one := map[string]any{"id": card.ID, "count": harness.HamiSplit, "devmem": card.Devmem, "devcore": 100,
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

func hamiEnds(env *harness.Env) error {
	return errors.Join(env.StopProcess(hamiProcess), env.Delete("hami-plugin"), env.WaitFor("its pod is gone",
		func() error {
			if _, err := env.Get("hami-plugin"); err == nil {
				return errors.New("it is there")
			}
			return nil
		}))
}

// hamisPod is a share of that card that HAMi's plugin hands out, and has handed out.
func hamisPod(env *harness.Env, name, uuid string) error {
	// Without HAMi's library nothing limits what its programs take.
	p := harness.IdlePod(harness.WithAnnotations(harness.ProbePod(name, harness.OneShare("2000", "10")),
		"nvidia.com/use-gpuuuid", uuid))
	if _, err := env.Create(p); err != nil {
		return err
	}
	if err := env.WaitRunning(name); err != nil {
		return errors.Join(err, errors.New(env.Processes.Tail(hamiProcess)))
	}
	now, err := env.Get(name)
	if err != nil {
		return err
	}
	lock, err := env.NodeLock(harness.KubeletNode)
	if phase := now.Annotations["hami.io/bind-phase"]; err == nil && (phase != "success" || lock != "") {
		err = fmt.Errorf("%s is %q, and the node's lock %q", name, phase, lock)
	}
	if on, other := env.DeviceOf(name); err == nil && (other != nil || on != uuid) {
		err = errors.Join(other, fmt.Errorf("%s is on %s, not %s", name, on, uuid))
	}
	return err
}

func migratedFromHami(env *harness.Env) (err error) {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	// However it ends, whoever comes next finds Divvy's agent.
	defer func() {
		err = errors.Join(err, env.StopProcess(hamiProcess))
		if one, known := env.Processes.Find(harness.AgentProcess); !known || !one.Alive() {
			err = errors.Join(err, env.RestartAgent(record.Build), env.DeletePods())
		}
	}()
	return env.WithPolicyAccounts(func(plugin, foreign harness.PluginAccount) error {
		if err := fromHami(env, record.Build, uuids, plugin, foreign); err != nil {
			return err
		}
		return backToHami(env, record.Build, uuids, plugin)
	})
}

// fromHami: two of its pods share a card.
func fromHami(env *harness.Env, build string, uuids []string, plugin, foreign harness.PluginAccount) error {
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	terms, err := hamiTerms(env)
	if err == nil {
		err = env.ForeignPluginFails(foreign, terms)
	}
	if err != nil {
		return err
	}
	if err := hamiServes(env, plugin); err != nil {
		return err
	}
	for _, name := range []string{"theirs-0", "theirs-1"} {
		if err := hamisPod(env, name, uuids[0]); err != nil {
			return err
		}
	}
	if err := hamiEnds(env); err != nil {
		return err
	}
	if err := env.RestartAgent(build); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(len(uuids) - 1); err != nil {
		return err
	}
	p := harness.WithAnnotations(harness.ProbePod("beside", harness.OneShare("1000", "10")), "nvidia.com/use-gpuuuid",
		uuids[0])
	if _, err := env.Create(p); err != nil {
		return err
	}
	if _, err := env.WaitRefused("beside"); err != nil {
		return err
	}
	for _, name := range []string{"theirs-0", "theirs-1"} {
		if err := env.StillRunning(name); err != nil {
			return err
		}
		if err := env.WaitHealthyDevices(len(uuids) - 1); err != nil {
			return err
		}
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	if err := env.WaitHealthyDevices(len(uuids)); err != nil {
		return err
	}
	said, err := env.WaitResult("beside", 0)
	if err == nil {
		err = said.Limited(1000 << 20)
	}
	return err
}

// backToHami: what Divvy gave stays given, and is counted for who comes then.
func backToHami(env *harness.Env, build string, uuids []string, plugin harness.PluginAccount) error {
	whole := harness.WithAnnotations(harness.ProbePod("ours", harness.Limits{"nvidia.com/gpu": "1"}),
		"nvidia.com/use-gpuuuid", uuids[1])
	whole.Spec.Containers[0].Args = []string{"stay"}
	if _, err := env.Create(whole); err != nil {
		return err
	}
	if err := env.WaitRunning("ours"); err != nil {
		return err
	}
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	if err := hamiServes(env, plugin); err != nil {
		return err
	}
	if _, err := env.Create(harness.WithAnnotations(harness.ProbePod("no-room", harness.OneShare("1000", "10")),
		"nvidia.com/use-gpuuuid", uuids[1])); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("no-room", "memory"); err != nil {
		return fmt.Errorf("on the card of ours: %w", err)
	}
	if err := hamisPod(env, "theirs-2", uuids[2]); err != nil {
		return err
	}
	if err := env.StillRunning("ours"); err != nil {
		return err
	}
	if err := hamiEnds(env); err != nil {
		return err
	}
	if err := env.RestartAgent(build); err != nil {
		return err
	}
	if err := env.DeletePods(); err != nil {
		return err
	}
	return env.WaitHealthyDevices(len(uuids))
}
