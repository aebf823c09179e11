package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	MemoryResource = "nvidia.com/gpumem"
	CoresResource  = "nvidia.com/gpucores"
)

// HasDeviceIDs: the node's status has that many allocatable device IDs.
func (env *Env) HasDeviceIDs(idCount int64) error {
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, KubeletNode, meta.GetOptions{})
	if err != nil {
		return err
	}
	if now := node.Status.Allocatable["nvidia.com/gpu"]; now.Value() != idCount {
		return fmt.Errorf("%s units are allocatable", now.String())
	}
	return nil
}

const (
	OwnResource = "divvy.dev/gpu"
)

// IdlePod is that pod, with a container that does nothing.
func IdlePod(p *core.Pod) *core.Pod {
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = PauseImage, []string{"/pause"}
	return p
}

// WaitKubeletCapacity waits until the kubelet counts so many units by that name.
func (env *Env) WaitKubeletCapacity(name string, idCount int64) error {
	return env.WaitFor(fmt.Sprintf("%d units of %s", idCount, name), func() error {
		node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, KubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		now, known := node.Status.Allocatable[core.ResourceName(name)]
		if now.Value() != idCount {
			return fmt.Errorf("there are %s (%v); %s", now.String(), known, env.Processes.Tail(AgentProcess))
		}
		return nil
	})
}

// RestartAgentWithOwnName begins an agent that serves the own resource and no other.
func (env *Env) RestartAgentWithOwnName(build string) error {
	if err := env.StopProcess(AgentProcess); err != nil {
		return err
	}
	mark := env.AgentLogSize()
	if err := env.RunAgent(build, "--resource", OwnResource, "--model-names", "off"); err != nil {
		return err
	}
	return env.WaitAgentLog("the kubelet knows the resource resource="+OwnResource, mark)
}

// One unit for each card, and one name for it: so that three are more than a node has, or of a card it can only be
// that.
var OneDeviceIDEach = []string{"--resource", "nvidia.com/gpu", "--model-names", "off", "--per-device", "1"}

type RegisteredDevice struct {
	ID     string
	Health bool
	Count  int64 // units, by each name
}

// RegisteredDevices is what the node's agent says that it has.
func RegisteredDevices(node *core.Node) ([]RegisteredDevice, error) {
	var all []RegisteredDevice
	err := json.Unmarshal([]byte(node.Annotations["hami.io/node-nvidia-register"]), &all)
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("%d cards are registered", len(all))
	}
	return all, err
}

func HealthyDevices(all []RegisteredDevice) []RegisteredDevice {
	var found []RegisteredDevice
	for _, one := range all {
		if one.Health {
			found = append(found, one)
		}
	}
	return found
}

// PodOnDevice asks for a share of that card alone.
func PodOnDevice(name, uuid string) *core.Pod {
	p := ProbePod(name, OneShare("2000", "10"))
	p.Annotations = map[string]string{"use.divvy.dev/uuid": uuid}
	return p
}

// KubeletDevices is which units the kubelet has noted for a pod, by NUMA node; "-1": it was not told.
func (env *Env) KubeletDevices(name string) (map[string][]string, error) {
	p, err := env.Get(name)
	if err != nil {
		return nil, err
	}
	return KubeletDevicesOf(p)
}

func KubeletDevicesOf(p *core.Pod) (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(KubeletDir, "device-plugins", "kubelet_internal_checkpoint"))
	if err != nil {
		return nil, err
	}
	var noted struct {
		Data struct {
			PodDeviceEntries []struct {
				PodUID    string
				DeviceIDs map[string][]string
			}
		}
	}
	if err := json.Unmarshal(text, &noted); err != nil {
		return nil, err
	}
	deviceIDs := map[string][]string{}
	for _, one := range noted.Data.PodDeviceEntries {
		if one.PodUID != string(p.UID) {
			continue
		}
		for node, ids := range one.DeviceIDs {
			deviceIDs[node] = append(deviceIDs[node], ids...)
		}
	}
	return deviceIDs, nil
}
