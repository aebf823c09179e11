package harness

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProbeReport is what share_probe said.
type ProbeReport map[string]uint64

func probeReportIn(message string) (ProbeReport, error) {
	found := ProbeReport{}
	for _, word := range strings.Fields(message) {
		name, value, both := strings.Cut(word, "=")
		var number uint64
		if _, err := fmt.Sscan(value, &number); err != nil || !both {
			return nil, fmt.Errorf("the container said %q", message)
		}
		found[name] = number
	}
	if len(found) == 0 {
		return nil, errors.New("the container said nothing")
	}
	return found, nil
}

// Of the driver API.
const OutOfMemory = 2

// Limited: it sees so much, whomever it asks, and gets it.
func (s ProbeReport) Limited(total uint64) error { return s.limitedOn(1, total) }

// limitedOn is the same of so many devices.
func (s ProbeReport) limitedOn(devices, total uint64) error {
	if s["devices"] != devices || s["total"] != total || s["nvml"] != total {
		return fmt.Errorf("it sees %d devices of %d bytes, %d by NVML, and not %d of %d", s["devices"],
			s["total"], s["nvml"], devices, total)
	}
	return s.Exact(total)
}

// Exact: it gets what it is told is free, to the granule, and not more.
func (s ProbeReport) Exact(total uint64) error {
	if s["free"] == 0 || s["free"] >= total {
		return fmt.Errorf("%d of %d bytes are free beside a context", s["free"], total)
	}
	if s["above"] != OutOfMemory || s["exact"] != 0 || s["full"] != OutOfMemory {
		return fmt.Errorf("one granule too much: %d, what is free: %d, one more: %d", s["above"], s["exact"],
			s["full"])
	}
	return nil
}

// RequireKubelet is a skip where there is no kubelet. One whose runtime was away a moment ago is waited for.
func (env *Env) RequireKubelet() error {
	if _, known := env.Processes.Find("kubelet"); !known {
		return Skip{errors.New("no kubelet here")}
	}
	err := env.WaitFor("the node is ready", func() error {
		_, err := env.KubeletNode(env.Ctx, core.NodeReady)
		return err
	})
	if err != nil {
		return err
	}
	return env.devicesEmpty()
}

// devicesEmpty: containers of pods that were deleted at once end a moment later, and have memory until
// then.
func (env *Env) devicesEmpty() error {
	return env.WaitFor("nobody has memory of the cards", func() error {
		used, err := ScrapeAgent("divvy_device_memory_used_bytes")
		if err != nil {
			return err
		}
		for _, line := range used {
			if !strings.HasSuffix(line, " 0") {
				return errors.New(line)
			}
		}
		return nil
	})
}

func ProbePod(name string, limits Limits) *core.Pod {
	c := Container("probe", limits)
	c.Image, c.ImagePullPolicy = probeImage, core.PullNever
	p := Pod(name, c)
	p.Spec.HostNetwork = true
	p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": KubeletNode}
	p.Spec.RestartPolicy = core.RestartPolicyNever
	// The first process of a container heeds no SIGTERM that it did not ask for.
	p.Spec.TerminationGracePeriodSeconds = new(int64)
	*p.Spec.TerminationGracePeriodSeconds = 1
	return p
}

// WaitResult is what the pod's container said, when it has ended well, for the so-many-th time.
func (env *Env) WaitResult(name string, restarts int32) (ProbeReport, error) {
	var message string
	err := env.WaitFor(name+" has run", func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			over := one.State.Terminated
			if over == nil || one.RestartCount < restarts {
				over = one.LastTerminationState.Terminated
			}
			if over == nil || one.RestartCount < restarts {
				return fmt.Errorf("it is %s: %+v", p.Status.Phase, one.State)
			}
			if over.ExitCode != 0 {
				return fmt.Errorf("it ended with %d: %s", over.ExitCode, over.Message)
			}
			message = over.Message
			return nil
		}
		return fmt.Errorf("it is %s on %q: %s %s %s", p.Status.Phase, p.Spec.NodeName, UnschedulableMessage(p),
			p.Status.Reason, p.Status.Message)
	})
	if err != nil {
		return nil, err
	}
	return probeReportIn(message)
}

// UnmanagedPod is the same program on the same card, without Divvy: what its driver needs is mounted by hand.
func (env *Env) UnmanagedPod(name, build string) *core.Pod {
	return env.UnmanagedPodOn(SimulatedDevices, name, build)
}

func (env *Env) UnmanagedPodOn(cards, name, build string) *core.Pod {
	p := ProbePod(name, nil)
	p.Spec.NodeName = KubeletNode
	kind := core.HostPathDirectory
	for volume, path := range map[string]string{"simgpu": filepath.Join(build, "simgpu"),
		"card": env.Path("divvy", cards, "card")} {
		p.Spec.Volumes = append(p.Spec.Volumes, core.Volume{Name: volume,
			VolumeSource: core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: path, Type: &kind}}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts,
			core.VolumeMount{Name: volume, MountPath: "/run/bare/" + volume})
	}
	p.Spec.Containers[0].Env = []core.EnvVar{{Name: "LD_LIBRARY_PATH", Value: "/run/bare/simgpu"},
		{Name: "SIMGPU_PROFILE", Value: strings.TrimPrefix(cards, "sim-")},
		{Name: "SIMGPU_DIR", Value: "/run/bare/card"}}
	return p
}

// WaitRunning is the pod's container when it has said its word and stays.
func (env *Env) WaitRunning(name string) error {
	return env.WaitFor(name+" runs", func() error {
		p, err := env.Get(name)
		if err == nil && p.Status.Phase != core.PodRunning {
			err = fmt.Errorf("it is %s: %s", p.Status.Phase, UnschedulableMessage(p))
		}
		return err
	})
}

// BypassScheduler puts the pod onto the node, in a namespace that the webhook leaves alone, until it is
// seen to be as it should, and takes it away.
func (env *Env) BypassScheduler(p *core.Pod, what string, seen func(*core.Pod) error) (err error) {
	pods := env.Client.CoreV1().Pods("kube-system")
	p.Spec.NodeName = KubeletNode
	if _, err := pods.Create(env.Ctx, p, meta.CreateOptions{}); err != nil {
		return err
	}
	defer func() {
		none := int64(0)
		err = errors.Join(err, pods.Delete(env.Ctx, p.Name, meta.DeleteOptions{GracePeriodSeconds: &none}))
	}()
	return env.WaitFor(what, func() error {
		found, err := pods.Get(env.Ctx, p.Name, meta.GetOptions{})
		if err != nil {
			return err
		}
		return seen(found)
	})
}

// reportBy is what a container of the pod said that has ended well.
func reportBy(p *core.Pod, name string) (ProbeReport, error) {
	statuses := append(append([]core.ContainerStatus{}, p.Status.InitContainerStatuses...),
		p.Status.ContainerStatuses...)
	for _, one := range statuses {
		over := one.State.Terminated
		if one.Name != name {
			continue
		}
		if over == nil {
			return nil, fmt.Errorf("%s: %+v", name, one.State)
		}
		if over.ExitCode != 0 {
			return nil, fmt.Errorf("%s ended with %d: %s", name, over.ExitCode, over.Message)
		}
		return probeReportIn(over.Message)
	}
	return nil, fmt.Errorf("no container %s has begun", name)
}

// onCard: its assignment names the card that it sees.
func (s ProbeReport) onCard(p *core.Pod, place int) error {
	containers := strings.Split(p.Annotations[AllocatedKey], ";")
	if place >= len(containers) {
		return fmt.Errorf("the assignment is %q", p.Annotations[AllocatedKey])
	}
	uuid, _, _ := strings.Cut(containers[place], ",")
	hash := fnv.New64a()
	hash.Write([]byte(uuid))
	if s["uuid"] != hash.Sum64() {
		return fmt.Errorf("it does not see %s, the card of its assignment", uuid)
	}
	return nil
}

// WaitDevices waits until just these cards are registered, and the kubelet has so many units.
func (env *Env) WaitDevices(cards []string, idCount int64) error {
	return env.WaitFor(fmt.Sprintf("%d cards and %d units", len(cards), idCount), func() error {
		node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, KubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		all, err := RegisteredDevices(node)
		if err != nil {
			return err
		}
		var ids []string
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		if strings.Join(ids, ",") != strings.Join(cards, ",") {
			return fmt.Errorf("registered are %v", ids)
		}
		now := node.Status.Allocatable["nvidia.com/gpu"]
		if now.Value() != idCount {
			return fmt.Errorf("%s units are allocatable", now.String())
		}
		return nil
	})
}

// ScrapeAgent are the lines of a family that the agent's /metrics has.
func ScrapeAgent(family string) ([]string, error) {
	reply, err := http.Get("http://" + AgentMetrics + "/metrics")
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, family+"{") {
			found = append(found, line)
		}
	}
	return found, nil
}

// Metrics are those of a pod.
func (env *Env) Metrics(family, pod string) ([]string, error) {
	all, err := ScrapeAgent(family)
	if err != nil {
		return nil, err
	}
	var found []string
	whose := fmt.Sprintf(`namespace="%s",pod="%s",container="probe"`, env.Namespace, pod)
	for _, line := range all {
		if strings.Contains(line, whose) {
			found = append(found, line)
		}
	}
	return found, nil
}

// WaitMetric waits for a sample of the pod in which all of these are.
func (env *Env) WaitMetric(family, pod string, words ...string) error {
	return env.WaitFor(pod+" is in "+family, func() error {
		found, err := env.Metrics(family, pod)
		if err != nil {
			return err
		}
		for _, line := range found {
			missing := 0
			for _, word := range words {
				if !strings.Contains(line, word) {
					missing++
				}
			}
			if missing == 0 {
				return nil
			}
		}
		return fmt.Errorf("%q have not all of %q", found, words)
	})
}
