package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-share-is-seen-and-enforced",
			"one pod, one card: limit seen and enforced through a real kubelet with plain mounts",
			enforcedByKubelet},
		check{"kubelet-a-container-that-begins-anew-keeps-its-share",
			"a container that is started again has the limit it had; without Divvy the whole card",
			enforcedAgain},
		check{"kubelet-nothing-starts-that-was-given-nothing",
			"fails closed: a pod with devices and without an assignment does not run, and its events say why",
			nothingStarts})
}

// seen is what share_probe said.
type seen map[string]uint64

func seenIn(message string) (seen, error) {
	found := seen{}
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
const outOfMemory = 2

// limited: it sees so much, whomever it asks, and gets it.
func (s seen) limited(total uint64) error { return s.limitedOn(1, total) }

// limitedOn is the same of so many devices.
func (s seen) limitedOn(devices, total uint64) error {
	if s["devices"] != devices || s["total"] != total || s["nvml"] != total {
		return fmt.Errorf("it sees %d devices of %d bytes, %d by NVML, and not %d of %d", s["devices"],
			s["total"], s["nvml"], devices, total)
	}
	return s.exact(total)
}

// exact: it gets what it is told is free, to the granule, and not more.
func (s seen) exact(total uint64) error {
	if s["free"] == 0 || s["free"] >= total {
		return fmt.Errorf("%d of %d bytes are free beside a context", s["free"], total)
	}
	if s["above"] != outOfMemory || s["exact"] != 0 || s["full"] != outOfMemory {
		return fmt.Errorf("one granule too much: %d, what is free: %d, one more: %d", s["above"], s["exact"],
			s["full"])
	}
	return nil
}

// onKubelet is a skip where there is no kubelet. One whose runtime was away a moment ago is waited for.
func (w *world) onKubelet() error {
	if _, known := w.processes.find("kubelet"); !known {
		return skip{errors.New("no kubelet here")}
	}
	err := w.until("the node is ready", func() error {
		_, err := w.kubeletNode(w.ctx, core.NodeReady)
		return err
	})
	if err != nil {
		return err
	}
	return w.cardsEmpty()
}

// cardsEmpty: containers of pods that were deleted at once end a moment later, and have memory until
// then.
func (w *world) cardsEmpty() error {
	return w.until("nobody has memory of the cards", func() error {
		used, err := scraped("divvy_card_memory_used_bytes")
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

func probe(name string, limits asks) *core.Pod {
	c := container("probe", limits)
	c.Image, c.ImagePullPolicy = probeImage, core.PullNever
	p := pod(name, c)
	p.Spec.HostNetwork = true
	p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": kubeletNode}
	p.Spec.RestartPolicy = core.RestartPolicyNever
	// The first process of a container heeds no SIGTERM that it did not ask for.
	p.Spec.TerminationGracePeriodSeconds = new(int64)
	*p.Spec.TerminationGracePeriodSeconds = 1
	return p
}

// ended is what the pod's container said, when it has ended well, for the so-many-th time.
func (w *world) ended(name string, restarts int32) (seen, error) {
	var message string
	err := w.until(name+" has run", func() error {
		p, err := w.get(name)
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
		return fmt.Errorf("it is %s on %q: %s %s %s", p.Status.Phase, p.Spec.NodeName, unscheduled(p),
			p.Status.Reason, p.Status.Message)
	})
	if err != nil {
		return nil, err
	}
	return seenIn(message)
}

// bare is the same program on the same card, without Divvy: what its driver needs is mounted by hand.
func (w *world) bare(name, build string) *core.Pod { return w.bareOn(simulated, name, build) }

func (w *world) bareOn(cards, name, build string) *core.Pod {
	p := probe(name, nil)
	p.Spec.NodeName = kubeletNode
	kind := core.HostPathDirectory
	for volume, path := range map[string]string{"simgpu": filepath.Join(build, "simgpu"),
		"card": w.path("divvy", cards, "card")} {
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

func enforcedByKubelet(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	const mebibytes = 4096
	if _, err := w.create(probe("limited", one(fmt.Sprint(mebibytes), "30"))); err != nil {
		return err
	}
	limited, err := w.ended("limited", 0)
	if err != nil {
		return err
	}
	if err := limited.limited(mebibytes << 20); err != nil {
		return fmt.Errorf("limited: %w", err)
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	if _, err := w.create(w.bare("bare", record.Build)); err != nil {
		return err
	}
	whole, err := w.ended("bare", 0)
	if err != nil {
		return err
	}
	if whole["total"] < 16*(mebibytes<<20) {
		return fmt.Errorf("without Divvy it sees %d bytes: that is no whole card", whole["total"])
	}
	if err := whole.exact(whole["total"]); err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	w.note = fmt.Sprintf("with Divvy %d bytes, without %d", limited["total"], whole["total"])
	return nil
}

// secondTime is what its container says that has been started again.
func (w *world) secondTime(p *core.Pod) (seen, error) {
	p.Spec.RestartPolicy = core.RestartPolicyAlways
	if _, err := w.create(p); err != nil {
		return nil, err
	}
	return w.ended(p.Name, 1)
}

func enforcedAgain(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	const mebibytes = 2048
	second, err := w.secondTime(probe("again", one(fmt.Sprint(mebibytes), "30")))
	if err == nil {
		err = second.limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	// What it had is free for others when it is gone.
	if err := w.remove("again"); err != nil {
		return err
	}
	err = w.until("its tenant is gone", func() error {
		left, err := w.ledgers()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there is %s", strings.Join(left, ", "))
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.unlimitedAgain(mebibytes << 20)
}

// unlimitedAgain is the control: the same program on the same card, of which Divvy does not know.
func (w *world) unlimitedAgain(total uint64) error {
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	second, err := w.secondTime(w.bare("bare-again", record.Build))
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if second.limited(total) == nil {
		return errors.New("control: without Divvy it has that limit, too: nothing is shown")
	}
	w.note = fmt.Sprintf("when it is started again it has %d bytes, without Divvy %d", total, second["total"])
	return nil
}

// runs is the pod's container when it has said its word and stays.
func (w *world) runs(name string) error {
	return w.until(name+" runs", func() error {
		p, err := w.get(name)
		if err == nil && p.Status.Phase != core.PodRunning {
			err = fmt.Errorf("it is %s: %s", p.Status.Phase, unscheduled(p))
		}
		return err
	})
}

// pastTheScheduler puts the pod onto the node, in a namespace that the webhook leaves alone, until it is
// seen to be as it should, and takes it away.
func (w *world) pastTheScheduler(p *core.Pod, what string, seen func(*core.Pod) error) (err error) {
	pods := w.client.CoreV1().Pods("kube-system")
	p.Spec.NodeName = kubeletNode
	if _, err := pods.Create(w.ctx, p, meta.CreateOptions{}); err != nil {
		return err
	}
	defer func() {
		none := int64(0)
		err = errors.Join(err, pods.Delete(w.ctx, p.Name, meta.DeleteOptions{GracePeriodSeconds: &none}))
	}()
	return w.until(what, func() error {
		found, err := pods.Get(w.ctx, p.Name, meta.GetOptions{})
		if err != nil {
			return err
		}
		return seen(found)
	})
}

func nothingStarts(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	p := probe(w.space, asks{"nvidia.com/gpu": "1"})
	return w.pastTheScheduler(p, "the kubelet is told why not", func(found *core.Pod) error {
		for _, one := range found.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "has no "+allocated) {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", found.Status.Phase, found.Status.Message)
	})
}
