package harness

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
)

// given is what the kubelet's checkpoint has of our answer for the pod: all of it, as text.
func (env *Env) given(uid string) (string, error) {
	text, err := os.ReadFile(filepath.Join(KubeletDir, "device-plugins", "kubelet_internal_checkpoint"))
	if err != nil {
		return "", err
	}
	var note struct {
		Data struct {
			PodDeviceEntries []struct{ PodUID, AllocResp string }
		}
	}
	if err := json.Unmarshal(text, &note); err != nil {
		return "", err
	}
	for _, one := range note.Data.PodDeviceEntries {
		if one.PodUID == uid {
			all, err := base64.StdEncoding.DecodeString(one.AllocResp)
			return string(all), err
		}
	}
	return "", errors.New("the kubelet has noted nothing of it")
}

// InjectedByCDI: the container was told of by a name, or else by mounts, and not by both.
func (env *Env) InjectedByCDI(name string) (bool, error) {
	p, err := env.Get(name)
	if err != nil {
		return false, err
	}
	said, err := env.given(string(p.UID))
	if err != nil {
		return false, err
	}
	named, mounted := strings.Contains(said, "divvy.dev/pod="), strings.Contains(said, "/etc/ld.so.preload")
	if named == mounted {
		return false, fmt.Errorf("named %v, mounted %v: %q", named, mounted, said)
	}
	return named, nil
}

// WaitAgentLog waits until it does, in what its log has behind the mark.
func (env *Env) WaitAgentLog(words string, mark int) error {
	return env.WaitFor("the agent says "+words, func() error {
		text, err := os.ReadFile(env.Processes.Log(AgentProcess))
		if err == nil && !strings.Contains(string(text[min(mark, len(text)):]), words) {
			err = errors.New(env.Processes.Tail(AgentProcess))
		}
		return err
	})
}

// AgentLogSize is how much agents have said so far.
func (env *Env) AgentLogSize() int {
	text, _ := os.ReadFile(env.Processes.Log(AgentProcess))
	return len(text)
}

// CheckLimited: it sees and gets what it asked for.
func (env *Env) CheckLimited(name string) error {
	if _, err := env.Create(ProbePod(name, OneShare("2000", "10"))); err != nil {
		return err
	}
	said, err := env.WaitResult(name, 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	return err
}

// StartPlugin begins such a plugin as that process, with that account's token.
func (env *Env) StartPlugin(process, kubeconfig string, terms PluginTerms) error {
	text, err := json.Marshal(terms)
	if err != nil {
		return err
	}
	file := env.Path("log", process+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	return env.Processes.Start(process, env.Self, "hami-plugin", "--kubeconfig", kubeconfig, "--node", KubeletNode,
		"--terms", file, "--dir", filepath.Join(KubeletDir, "device-plugins"))
}

const NvidiaProcess = "nvidia-device-plugin"

// StopProcess lets whoever serves the node's devices end, as a rollout does.
func (env *Env) StopProcess(name string) error {
	one, known := env.Processes.Find(name)
	if !known || !one.Alive() {
		return nil
	}
	if err := syscall.Kill(one.Pid, syscall.SIGTERM); err != nil {
		return err
	}
	return one.End(StopBound)
}

// StopAgent is StopProcess of the node's agent, and what it is begun anew with.
func (env *Env) StopAgent() (NodeRecord, error) {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return record, err
	}
	return record, env.StopProcess(AgentProcess)
}

// HealthyDeviceCount are those that the node's registration offers.
func (env *Env) HealthyDeviceCount() (count int, err error) {
	node, err := env.KubeletNode(env.Ctx, core.NodeReady)
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

func (env *Env) WaitHealthyDevices(cards int) error {
	return env.WaitFor(fmt.Sprintf("%d cards are offered", cards), func() error {
		count, err := env.HealthyDeviceCount()
		if err == nil && count != cards {
			err = fmt.Errorf("%d are; %s", count, env.Processes.Tail(AgentProcess))
		}
		return err
	})
}

const (
	VolcanoAssigned = "volcano.sh/vgpu-ids-new"
)

// WaitNodeResources: the node's status says how much its cards have together.
func (env *Env) WaitNodeResources(want map[string]int64) error {
	return env.WaitFor("the node says what can be asked for", func() error {
		node, err := env.KubeletNode(env.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		for name, amount := range want {
			if has := node.Status.Allocatable[core.ResourceName(name)]; has.Value() != amount {
				return fmt.Errorf("it has %s of %s, not %d; %s", has.String(), name, amount,
					env.Processes.Tail(AgentProcess))
			}
		}
		return nil
	})
}

func (env *Env) NodeAnnotation(key string) (string, bool, error) {
	node, err := env.KubeletNode(env.Ctx, core.NodeReady)
	if err != nil {
		return "", false, err
	}
	text, there := node.Annotations[key]
	return text, there, nil
}
