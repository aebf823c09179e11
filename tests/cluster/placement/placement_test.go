package placement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestPlacement(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-pod-is-handed-over-and-placed",
			Requirement: "step 1: filter, bind and webhook for one NVIDIA pod", Run: aPodIsPlaced, Parallel: true},
		checks.Check{Name: "a-plain-pod-is-left-alone",
			Requirement: "the webhook fails closed for GPU pods only; plain pods stay the cluster's own scheduler's",
			Run:         aPlainPodIsLeftAlone, Parallel: true},
		checks.Check{Name: "a-whole-card-is-exclusive",
			Requirement: "nvidia.com/gpu: N without memory never shares a card", Run: aWholeCardIsExclusive},
		checks.Check{Name: "init-containers-come-first-in-the-annotation",
			Requirement: "annotations and encodings with init containers first", Run: initContainersComeFirst, Parallel: true},
		checks.Check{Name: "bytes-mean-bytes", Requirement: "byte quantities (gpumem: 16Gi) are accepted and mean bytes",
			Run: bytesMeanBytes, Parallel: true},
		checks.Check{Name: "what-can-never-be-right-is-refused-at-the-door",
			Requirement: "negative and overflowing quantities, privileged containers, a node given: a clear message",
			Run:         wrongPodsAreRefused, Parallel: true},
		checks.Check{Name: "a-pod-that-fits-nowhere-says-why", Requirement: "every refusal has a typed reason",
			Run: aPodThatFitsNowhere},
		checks.Check{Name: "models-and-uuids-are-chosen-by-annotation", Requirement: "selection by model and UUID",
			Run: selection},
		checks.Check{Name: "many-at-once-never-share-a-slot",
			Requirement: "a stream of pods whose filters precede their binds: no slot is given twice", Run: manyAtOnce},
		checks.Check{Name: "room-that-is-given-back-is-used", Requirement: "what ended is given back", Run: roomIsUsedAgain},
		checks.Check{Name: "a-killed-scheduler-knows-everything-again",
			Requirement: "state is rebuilt from the API: nothing is lost, nothing is given twice", Run: killedAndBack},
		checks.Check{Name: "preferences-are-overridden-unless-all-that-fit-are-told",
			Requirement: "/prioritize, opt-in: preferred node affinity is honoured with it and overridden without",
			Run:         preferences},
		checks.Check{Name: "a-gpu-pod-is-refused-while-the-webhook-is-away",
			Requirement: "webhook down: a GPU pod is refused and a plain pod is admitted", Run: webhookAway})
}

func aPodIsPlaced(env *harness.Env) error {
	if _, err := env.Create(harness.Pod("p", harness.Container("c", harness.OneShare("3000", "30")))); err != nil {
		return err
	}
	p, err := env.WaitBound("p")
	if err != nil {
		return err
	}
	if p.Spec.SchedulerName != harness.SchedulerAccount {
		return fmt.Errorf("its scheduler is %q", p.Spec.SchedulerName)
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	if len(shares) != 1 || len(shares[0]) != 1 {
		return fmt.Errorf("one share is expected, not %v", shares)
	}
	got := shares[0][0]
	if !strings.HasPrefix(got.UUID, "GPU-"+p.Spec.NodeName+"-") || got.Kind != "NVIDIA" ||
		got.Memory != "3000" || got.Cores != "30" {
		return fmt.Errorf("%v on %s", got, p.Spec.NodeName)
	}
	for key, want := range map[string]string{harness.AssignedNodeKey: p.Spec.NodeName,
		"hami.io/bind-phase":               "allocating",
		"hami.io/vgpu-devices-to-allocate": p.Annotations[harness.AllocatedKey]} {
		if p.Annotations[key] != want {
			return fmt.Errorf("%s is %q, not %q", key, p.Annotations[key], want)
		}
	}
	return nil
}

func aPlainPodIsLeftAlone(env *harness.Env) error {
	made, err := env.Create(harness.Pod("plain", harness.Container("c", harness.Limits{"cpu": "100m"})))
	if err != nil {
		return err
	}
	if made.Spec.SchedulerName != "default-scheduler" {
		return fmt.Errorf("its scheduler is %q", made.Spec.SchedulerName)
	}
	p, err := env.WaitBound("plain")
	if err != nil {
		return err
	}
	if p.Annotations[harness.AssignedNodeKey] != "" {
		return fmt.Errorf("it was given %q", p.Annotations[harness.AllocatedKey])
	}
	return nil
}

func aWholeCardIsExclusive(env *harness.Env) error {
	const total = harness.NodeCount * harness.DevicesPerNode
	for at := 0; at < total; at++ {
		whole := harness.Pod(fmt.Sprintf("whole-%d", at), harness.Container("c", harness.Limits{"nvidia.com/gpu": "1"}))
		if _, err := env.Create(whole); err != nil {
			return err
		}
	}
	used := map[string]string{}
	for at := 0; at < total; at++ {
		p, err := env.WaitBound(fmt.Sprintf("whole-%d", at))
		if err != nil {
			return err
		}
		shares, err := harness.SharesOf(p)
		if err != nil {
			return err
		}
		got := shares[0][0]
		if before := used[got.UUID]; before != "" {
			return fmt.Errorf("%s and %s are both on %s", before, p.Name, got.UUID)
		}
		if got.Cores != "100" {
			return fmt.Errorf("%s has %s cores", p.Name, got.Cores)
		}
		used[got.UUID] = p.Name
	}
	if _, err := env.Create(harness.Pod("small", harness.Container("c", harness.OneShare("100", "1")))); err != nil {
		return err
	}
	_, err := env.WaitRefused("small")
	return err
}

func initContainersComeFirst(env *harness.Env) error {
	p := harness.Pod("p", harness.Container("first", harness.OneShare("2000", "20")), harness.Container("none",
		harness.Limits{"cpu": "1m"}))
	p.Spec.InitContainers = []core.Container{harness.Container("before", harness.OneShare("5000", "50"))}
	if _, err := env.Create(p); err != nil {
		return err
	}
	got, err := env.WaitBound("p")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(got)
	if err != nil {
		return err
	}
	if len(shares) != 3 || len(shares[0]) != 1 || len(shares[1]) != 1 || len(shares[2]) != 0 ||
		shares[0][0].Memory != "5000" || shares[1][0].Memory != "2000" {
		return fmt.Errorf("%q", got.Annotations[harness.AllocatedKey])
	}
	return nil
}

func bytesMeanBytes(env *harness.Env) error {
	if _, err := env.Create(harness.Pod("p", harness.Container("c", harness.OneShare("16Gi", "10")))); err != nil {
		return err
	}
	p, err := env.WaitBound("p")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err == nil && shares[0][0].Memory != "16384" {
		err = fmt.Errorf("%q", p.Annotations[harness.AllocatedKey])
	}
	return err
}

func wrongPodsAreRefused(env *harness.Env) error {
	yes := true
	privileged := harness.Pod("privileged", harness.Container("shell", harness.OneShare("3000", "30")))
	privileged.Spec.Containers[0].SecurityContext = &core.SecurityContext{Privileged: &yes}
	placed := harness.Pod("placed", harness.Container("c", harness.OneShare("3000", "30")))
	placed.Spec.NodeName = "node-00000"
	for _, wrong := range []struct {
		p     *core.Pod
		words string
	}{
		{harness.Pod("fraction", harness.Container("c", harness.OneShare("1.5", "30"))), "nvidia.com/gpumem"},
		{harness.Pod("much", harness.Container("c", harness.Limits{"nvidia.com/gpu": "1",
			"nvidia.com/gpumem-percentage": "101"})),
			"nvidia.com/gpumem-percentage"},
		{harness.Pod("huge", harness.Container("c", harness.OneShare("9000000000000000000", "30"))), "nvidia.com/gpumem"},
		{privileged, "shell is privileged"},
		{placed, "node assigned"},
	} {
		_, err := env.Create(wrong.p)
		if err == nil {
			return fmt.Errorf("%s was admitted", wrong.p.Name)
		}
		if !strings.Contains(err.Error(), wrong.words) || !strings.Contains(err.Error(), "denied") {
			return fmt.Errorf("%s: %q does not say %q", wrong.p.Name, err.Error(), wrong.words)
		}
	}
	return nil
}

func aPodThatFitsNowhere(env *harness.Env) error {
	if _, err := env.Create(harness.Pod("big", harness.Container("c", harness.OneShare("81921", "30")))); err != nil {
		return err
	}
	many := harness.Pod("many", harness.Container("c", harness.Limits{"nvidia.com/gpu": "9", "nvidia.com/gpumem": "1000"}))
	if _, err := env.Create(many); err != nil {
		return err
	}
	for name, words := range map[string]string{"big": "3 devices with too little memory (1 device",
		"many": "3 too few devices (9 devices wanted)"} {
		if _, err := env.WaitRefusedFor(name, words); err != nil {
			return err
		}
	}
	return nil
}

func selection(env *harness.Env) error {
	const wanted = "GPU-node-00001-5"
	chosen := harness.Pod("chosen", harness.Container("c", harness.OneShare("1000", "10")))
	chosen.Annotations = map[string]string{"nvidia.com/use-gpuuuid": wanted}
	if _, err := env.Create(chosen); err != nil {
		return err
	}
	p, err := env.WaitBound("chosen")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	if shares[0][0].UUID != wanted {
		return fmt.Errorf("it is on %s", shares[0][0].UUID)
	}
	other := harness.Pod("other", harness.Container("c", harness.OneShare("1000", "10")))
	other.Annotations = map[string]string{"nvidia.com/use-gputype": "A100"}
	if _, err := env.Create(other); err != nil {
		return err
	}
	_, err = env.WaitRefused("other")
	return err
}

// As many as there are slots for by memory, and one for every tenth of them more.
func manyAtOnce(env *harness.Env) error {
	const each = harness.DeviceMemoryMiB / 4
	const room = harness.NodeCount * harness.DevicesPerNode * 4
	for at := 0; at < room+room/10; at++ {
		p := harness.Pod(fmt.Sprintf("p-%d", at), harness.Container("c", harness.OneShare(fmt.Sprint(each), "5")))
		if _, err := env.Create(p); err != nil {
			return err
		}
	}
	err := env.WaitFor("all that fit are bound", func() error {
		count, _, err := env.Allocations()
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
	return env.NoDeviceOverbooked()
}

func roomIsUsedAgain(env *harness.Env) error {
	all := harness.Limits{"nvidia.com/gpu": "8"}
	for at := 0; at < harness.NodeCount; at++ {
		if _, err := env.Create(harness.Pod(fmt.Sprintf("all-%d", at), harness.Container("c", all))); err != nil {
			return err
		}
	}
	var p *core.Pod
	for at := 0; at < harness.NodeCount; at++ {
		var err error
		if p, err = env.WaitBound(fmt.Sprintf("all-%d", at)); err != nil {
			return err
		}
	}
	if _, err := env.Create(harness.Pod("next", harness.Container("c", all))); err != nil {
		return err
	}
	if _, err := env.WaitRefused("next"); err != nil {
		return err
	}
	if err := env.Delete(p.Name); err != nil {
		return err
	}
	next, err := env.WaitBound("next")
	if err == nil && next.Spec.NodeName != p.Spec.NodeName {
		err = fmt.Errorf("it is on %s, and %s was freed", next.Spec.NodeName, p.Spec.NodeName)
	}
	return err
}

func killedAndBack(env *harness.Env) error {
	const before, after = 20, 20
	for at := 0; at < before; at++ {
		if _, err := env.Create(harness.Pod(fmt.Sprintf("a-%d", at), harness.Container("c", harness.OneShare("9000",
			"10")))); err != nil {
			return err
		}
	}
	// In the midst of it: some are bound, some are not.
	time.Sleep(50 * time.Millisecond)
	if err := env.Kill(harness.ExtenderProcess); err != nil {
		return err
	}
	if err := env.Reinstall(); err != nil {
		return err
	}
	for at := 0; at < after; at++ {
		if _, err := env.Create(harness.Pod(fmt.Sprintf("b-%d", at), harness.Container("c", harness.OneShare("9000",
			"10")))); err != nil {
			return err
		}
	}
	for at := 0; at < before; at++ {
		if _, err := env.WaitBound(fmt.Sprintf("a-%d", at)); err != nil {
			return err
		}
		if _, err := env.WaitBound(fmt.Sprintf("b-%d", at)); err != nil {
			return err
		}
	}
	return env.NoDeviceOverbooked()
}

func webhookAway(env *harness.Env) error {
	if err := env.Kill(harness.ExtenderProcess); err != nil {
		return err
	}
	_, closed := env.Create(harness.Pod("gpu", harness.Container("c", harness.OneShare("3000", "30"))))
	_, open := env.Create(harness.Pod("plain", harness.Container("c", harness.Limits{"cpu": "1m"})))
	if err := env.Reinstall(); err != nil {
		return err
	}
	if closed == nil {
		return fmt.Errorf("a pod with devices was admitted")
	}
	return open
}
