package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
)

// The cluster of these checks: 3 nodes with 8 devices of 80 GiB and 10 slots each.
const (
	checkNodes    = 3
	checkDevices  = 8
	checkSlots    = 10
	checkMemoryMi = 80 << 10
)

var checks = []check{
	{"a-pod-is-handed-over-and-placed",
		"step 1: filter, bind and webhook for one NVIDIA pod", aPodIsPlaced},
	{"a-plain-pod-is-left-alone",
		"the webhook fails closed for GPU pods only; plain pods stay the cluster's own scheduler's",
		aPlainPodIsLeftAlone},
	{"a-whole-card-is-exclusive",
		"nvidia.com/gpu: N without memory never shares a card", aWholeCardIsExclusive},
	{"init-containers-come-first-in-the-annotation",
		"annotations and encodings with init containers first", initContainersComeFirst},
	{"bytes-mean-bytes", "byte quantities (gpumem: 16Gi) are accepted and mean bytes", bytesMeanBytes},
	{"what-can-never-be-right-is-refused-at-the-door",
		"negative and overflowing quantities, privileged containers, a node given: a clear message",
		wrongPodsAreRefused},
	{"a-pod-that-fits-nowhere-says-why", "every refusal has a typed reason", aPodThatFitsNowhere},
	{"models-and-uuids-are-chosen-by-annotation", "selection by model and UUID", selection},
	{"many-at-once-never-share-a-slot",
		"a stream of pods whose filters precede their binds: no slot is given twice", manyAtOnce},
	{"room-that-is-given-back-is-used", "what ended is given back", roomIsUsedAgain},
	{"a-killed-scheduler-knows-everything-again",
		"state is rebuilt from the API: nothing is lost, nothing is given twice", killedAndBack},
	{"preferences-are-overridden-unless-all-that-fit-are-told",
		"/prioritize, opt-in: preferred node affinity is honoured with it and overridden without",
		preferences},
	{"a-gpu-pod-is-refused-while-the-webhook-is-away",
		"webhook down: a GPU pod is refused and a plain pod is admitted", webhookAway},
}

func one(memory, cores string) asks {
	return asks{"nvidia.com/gpu": "1", "nvidia.com/gpumem": memory, "nvidia.com/gpucores": cores}
}

func aPodIsPlaced(w *world) error {
	if _, err := w.create(pod("p", container("c", one("3000", "30")))); err != nil {
		return err
	}
	p, err := w.bound("p")
	if err != nil {
		return err
	}
	if p.Spec.SchedulerName != account {
		return fmt.Errorf("its scheduler is %q", p.Spec.SchedulerName)
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 1 || len(shares[0]) != 1 {
		return fmt.Errorf("one share is expected, not %v", shares)
	}
	got := shares[0][0]
	if !strings.HasPrefix(got.uuid, "GPU-"+p.Spec.NodeName+"-") || got.kind != "NVIDIA" ||
		got.memory != "3000" || got.cores != "30" {
		return fmt.Errorf("%v on %s", got, p.Spec.NodeName)
	}
	for key, want := range map[string]string{assigned: p.Spec.NodeName,
		"hami.io/bind-phase":               "allocating",
		"hami.io/vgpu-devices-to-allocate": p.Annotations[allocated]} {
		if p.Annotations[key] != want {
			return fmt.Errorf("%s is %q, not %q", key, p.Annotations[key], want)
		}
	}
	return nil
}

func aPlainPodIsLeftAlone(w *world) error {
	made, err := w.create(pod("plain", container("c", asks{"cpu": "100m"})))
	if err != nil {
		return err
	}
	if made.Spec.SchedulerName != "default-scheduler" {
		return fmt.Errorf("its scheduler is %q", made.Spec.SchedulerName)
	}
	p, err := w.bound("plain")
	if err != nil {
		return err
	}
	if p.Annotations[assigned] != "" {
		return fmt.Errorf("it was given %q", p.Annotations[allocated])
	}
	return nil
}

func aWholeCardIsExclusive(w *world) error {
	const total = checkNodes * checkDevices
	for at := 0; at < total; at++ {
		whole := pod(fmt.Sprintf("whole-%d", at), container("c", asks{"nvidia.com/gpu": "1"}))
		if _, err := w.create(whole); err != nil {
			return err
		}
	}
	used := map[string]string{}
	for at := 0; at < total; at++ {
		p, err := w.bound(fmt.Sprintf("whole-%d", at))
		if err != nil {
			return err
		}
		shares, err := sharesOf(p)
		if err != nil {
			return err
		}
		got := shares[0][0]
		if before := used[got.uuid]; before != "" {
			return fmt.Errorf("%s and %s are both on %s", before, p.Name, got.uuid)
		}
		if got.cores != "100" {
			return fmt.Errorf("%s has %s cores", p.Name, got.cores)
		}
		used[got.uuid] = p.Name
	}
	if _, err := w.create(pod("small", container("c", one("100", "1")))); err != nil {
		return err
	}
	_, err := w.refused("small")
	return err
}

func initContainersComeFirst(w *world) error {
	p := pod("p", container("first", one("2000", "20")), container("none", asks{"cpu": "1m"}))
	p.Spec.InitContainers = []core.Container{container("before", one("5000", "50"))}
	if _, err := w.create(p); err != nil {
		return err
	}
	got, err := w.bound("p")
	if err != nil {
		return err
	}
	shares, err := sharesOf(got)
	if err != nil {
		return err
	}
	if len(shares) != 3 || len(shares[0]) != 1 || len(shares[1]) != 1 || len(shares[2]) != 0 ||
		shares[0][0].memory != "5000" || shares[1][0].memory != "2000" {
		return fmt.Errorf("%q", got.Annotations[allocated])
	}
	return nil
}

func bytesMeanBytes(w *world) error {
	if _, err := w.create(pod("p", container("c", one("16Gi", "10")))); err != nil {
		return err
	}
	p, err := w.bound("p")
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err == nil && shares[0][0].memory != "16384" {
		err = fmt.Errorf("%q", p.Annotations[allocated])
	}
	return err
}

func wrongPodsAreRefused(w *world) error {
	yes := true
	privileged := pod("privileged", container("shell", one("3000", "30")))
	privileged.Spec.Containers[0].SecurityContext = &core.SecurityContext{Privileged: &yes}
	placed := pod("placed", container("c", one("3000", "30")))
	placed.Spec.NodeName = "node-00000"
	for _, wrong := range []struct {
		p     *core.Pod
		words string
	}{
		{pod("fraction", container("c", one("1.5", "30"))), "nvidia.com/gpumem"},
		{pod("much", container("c", asks{"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "101"})),
			"nvidia.com/gpumem-percentage"},
		{pod("huge", container("c", one("9000000000000000000", "30"))), "nvidia.com/gpumem"},
		{privileged, "shell is privileged"},
		{placed, "node assigned"},
	} {
		_, err := w.create(wrong.p)
		if err == nil {
			return fmt.Errorf("%s was admitted", wrong.p.Name)
		}
		if !strings.Contains(err.Error(), wrong.words) || !strings.Contains(err.Error(), "denied") {
			return fmt.Errorf("%s: %q does not say %q", wrong.p.Name, err.Error(), wrong.words)
		}
	}
	return nil
}

func aPodThatFitsNowhere(w *world) error {
	if _, err := w.create(pod("big", container("c", one("81921", "30")))); err != nil {
		return err
	}
	many := pod("many", container("c", asks{"nvidia.com/gpu": "9", "nvidia.com/gpumem": "1000"}))
	if _, err := w.create(many); err != nil {
		return err
	}
	for name, words := range map[string]string{"big": "3 devices with too little memory (1 device",
		"many": "3 too few devices (9 devices wanted)"} {
		if _, err := w.refusedFor(name, words); err != nil {
			return err
		}
	}
	return nil
}

func selection(w *world) error {
	const wanted = "GPU-node-00001-5"
	chosen := pod("chosen", container("c", one("1000", "10")))
	chosen.Annotations = map[string]string{"nvidia.com/use-gpuuuid": wanted}
	if _, err := w.create(chosen); err != nil {
		return err
	}
	p, err := w.bound("chosen")
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	if shares[0][0].uuid != wanted {
		return fmt.Errorf("it is on %s", shares[0][0].uuid)
	}
	other := pod("other", container("c", one("1000", "10")))
	other.Annotations = map[string]string{"nvidia.com/use-gputype": "A100"}
	if _, err := w.create(other); err != nil {
		return err
	}
	_, err = w.refused("other")
	return err
}

// As many as there are slots for by memory, and one for every tenth of them more.
func manyAtOnce(w *world) error {
	const each = checkMemoryMi / 4
	const room = checkNodes * checkDevices * 4
	for at := 0; at < room+room/10; at++ {
		p := pod(fmt.Sprintf("p-%d", at), container("c", one(fmt.Sprint(each), "5")))
		if _, err := w.create(p); err != nil {
			return err
		}
	}
	err := w.until("all that fit are bound", func() error {
		count, _, err := w.bookings()
		if err != nil {
			return err
		}
		total := 0
		for _, one := range count {
			total += one
		}
		if total != room {
			return fmt.Errorf("%d of %d", total, room)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.noneTooFull()
}

func (w *world) noneTooFull() error {
	count, memory, err := w.bookings()
	if err != nil {
		return err
	}
	for _, uuid := range sorted(count) {
		if count[uuid] > checkSlots || memory[uuid] > checkMemoryMi {
			return fmt.Errorf("%s: %d shares, %d MiB", uuid, count[uuid], memory[uuid])
		}
	}
	return nil
}

func roomIsUsedAgain(w *world) error {
	all := asks{"nvidia.com/gpu": "8"}
	for at := 0; at < checkNodes; at++ {
		if _, err := w.create(pod(fmt.Sprintf("all-%d", at), container("c", all))); err != nil {
			return err
		}
	}
	var p *core.Pod
	for at := 0; at < checkNodes; at++ {
		var err error
		if p, err = w.bound(fmt.Sprintf("all-%d", at)); err != nil {
			return err
		}
	}
	if _, err := w.create(pod("next", container("c", all))); err != nil {
		return err
	}
	if _, err := w.refused("next"); err != nil {
		return err
	}
	if err := w.remove(p.Name); err != nil {
		return err
	}
	next, err := w.bound("next")
	if err == nil && next.Spec.NodeName != p.Spec.NodeName {
		err = fmt.Errorf("it is on %s, and %s was freed", next.Spec.NodeName, p.Spec.NodeName)
	}
	return err
}

// kill ends a part at once, as a lost machine would.
func (w *world) kill(name string) error {
	found, known := w.processes.find(name)
	if !known {
		return fmt.Errorf("%s is not known", name)
	}
	if err := syscall.Kill(found.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	return w.until(name+" is gone", func() error {
		if found.alive() {
			return fmt.Errorf("it is there")
		}
		return nil
	})
}

// again starts all of Divvy's parts anew.
func (w *world) again() error {
	if err := w.installation.remove(); err != nil {
		return err
	}
	return w.install(w.ctx)
}

func killedAndBack(w *world) error {
	const before, after = 20, 20
	for at := 0; at < before; at++ {
		if _, err := w.create(pod(fmt.Sprintf("a-%d", at), container("c", one("9000", "10")))); err != nil {
			return err
		}
	}
	// In the midst of it: some are bound, some are not.
	time.Sleep(50 * time.Millisecond)
	if err := w.kill(extender); err != nil {
		return err
	}
	if err := w.again(); err != nil {
		return err
	}
	for at := 0; at < after; at++ {
		if _, err := w.create(pod(fmt.Sprintf("b-%d", at), container("c", one("9000", "10")))); err != nil {
			return err
		}
	}
	for at := 0; at < before; at++ {
		if _, err := w.bound(fmt.Sprintf("a-%d", at)); err != nil {
			return err
		}
		if _, err := w.bound(fmt.Sprintf("b-%d", at)); err != nil {
			return err
		}
	}
	return w.noneTooFull()
}

func webhookAway(w *world) error {
	if err := w.kill(extender); err != nil {
		return err
	}
	_, closed := w.create(pod("gpu", container("c", one("3000", "30"))))
	_, open := w.create(pod("plain", container("c", asks{"cpu": "1m"})))
	if err := w.again(); err != nil {
		return err
	}
	if closed == nil {
		return fmt.Errorf("a pod with devices was admitted")
	}
	return open
}
