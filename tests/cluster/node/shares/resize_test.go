package shares

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestResize(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-running-share-is-changed",
			Requirement: "kubectl divvy resize pod/NS/NAME: more and less of memory and cores, priority; seen and enforced " +
				"inside, counted outside; refused beyond the card and below what is used",
			Run: changedLive},
		checks.Check{Name: "kubelet-a-change-outlives-its-scheduler-and-agent",
			Requirement: "the agent is away when it is asked for, the scheduler is killed when it is admitted: it is " +
				"done once, when both are back",
			Run: changedThroughout})
}

func changedLive(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	const before, after = 3000, 5000
	p := harness.ProbePod("changed", harness.OneShare(fmt.Sprint(before), "10"))
	p.Spec.Containers[0].Args = []string{"until", fmt.Sprint(after << 20)}
	// The control: it would end, too, if it might have that much, and nobody asks for it.
	unasked := harness.ProbePod("unasked", harness.OneShare(fmt.Sprint(before), "10"))
	unasked.Spec.Containers[0].Args = p.Spec.Containers[0].Args
	staying := harness.ProbePod("staying", harness.OneShare("3000", "10"))
	staying.Spec.Containers[0].Args = []string{"stay"}
	for _, one := range []*core.Pod{p, unasked, staying} {
		if _, err := env.Create(one); err != nil {
			return err
		}
		if err := env.WaitRunning(one.Name); err != nil {
			return err
		}
	}
	// Nobody is refused less than he uses before he uses it.
	if err := usesMemory(env, "staying", 100<<20); err != nil {
		return err
	}
	said, no, err := env.RunSet("changed", "--memory", fmt.Sprintf("%dMi", after), "--cores", "40", "--priority", "high")
	if err != nil || no {
		return fmt.Errorf("set: %+v: %w", said, err)
	}
	if said.Phase != "done" || len(said.Devices) != 1 || said.Devices[0].MemoryMiB != after ||
		said.Devices[0].Cores != 40 || said.Container != "probe" {
		return fmt.Errorf("it was told %+v", said)
	}
	// It goes on until it may have that much, and says then whether it gets it.
	seen, err := env.WaitResult("changed", 0)
	if err == nil {
		err = seen.Limited(after << 20)
	}
	if err != nil {
		return fmt.Errorf("inside: %w", err)
	}
	if err := env.StillEnforced("unasked", before); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	now, err := env.Get("changed")
	if err != nil {
		return err
	}
	if now.Annotations["probe.use.divvy.dev/priority"] != "high" {
		return fmt.Errorf("a container that begins anew would not be told: %v", now.Annotations)
	}
	for _, bad := range []struct{ what, reason, text string }{
		{"1000Gi", "NoRoom", "not enough of device"},
		{"100Mi", "NoRoom", "it uses"},
	} {
		said, no, err := env.RunSet("staying", "--memory", bad.what)
		if err != nil || !no {
			return fmt.Errorf("%s: %+v: %w", bad.what, said, err)
		}
		if said.Phase != "refused" || said.Reason != bad.reason || !strings.Contains(said.Message, bad.text) ||
			len(said.Devices) != 1 || said.Devices[0].MemoryMiB != 3000 {
			return fmt.Errorf("%s: %+v", bad.what, said)
		}
	}
	if _, no, err := env.RunSet("staying", "--memory", "3500Mi", "-c", "nobody"); !no || err != nil {
		return fmt.Errorf("no such container: %v, %w", no, err)
	}
	said, no, err = env.RunSet("staying", "--memory", "6000Mi")
	if err != nil || no || said.Phase != "done" {
		return fmt.Errorf("more: %+v: %w", said, err)
	}
	if _, err := env.SetMemory("staying", "4000Mi"); err != nil {
		return fmt.Errorf("less than it may have, not less than it uses: %w", err)
	}
	if err := sameID(env); err != nil {
		return err
	}
	now, err = env.Get("staying")
	if err == nil && (now.Status.Phase != core.PodRunning || now.Status.ContainerStatuses[0].RestartCount != 0) {
		err = fmt.Errorf("it is %s", now.Status.Phase)
	}
	return err
}

// sameID: two pods ask under one id at once, as their users chose it: each gets what it asked for.
func sameID(env *harness.Env) error {
	sizes := map[string]int{"twin-a": 2500, "twin-b": 3500}
	for name, after := range sizes {
		p := harness.ProbePod(name, harness.OneShare("3000", "10"))
		p.Spec.Containers[0].Args = []string{"until", fmt.Sprint(after << 20)}
		if _, err := env.Create(p); err != nil {
			return err
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
	}
	for name, after := range sizes {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"use.divvy.dev/change":`+
			`"{\"id\":\"same\",\"container\":\"probe\",\"memoryMiB\":%d}"}}}`, after)
		_, err := env.Client.CoreV1().Pods(env.Namespace).Patch(env.Ctx, name, types.MergePatchType, []byte(patch),
			meta.PatchOptions{})
		if err != nil {
			return err
		}
	}
	for name, after := range sizes {
		seen, err := env.WaitResult(name, 0)
		if err == nil {
			err = seen.Limited(uint64(after) << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// usesMemory waits until the pod has more than that.
func usesMemory(env *harness.Env, name string, bytes float64) error {
	return env.WaitFor(fmt.Sprintf("%s uses more than %.0f bytes", name, bytes), func() error {
		found, err := env.Metrics("divvy_tenant_memory_used_bytes", name)
		if err != nil || len(found) != 1 {
			return errors.Join(err, fmt.Errorf("%d samples of it", len(found)))
		}
		var used float64
		if _, err := fmt.Sscan(found[0][strings.LastIndex(found[0], " ")+1:], &used); err != nil || used <= bytes {
			return errors.Join(err, fmt.Errorf("it uses %.0f", used))
		}
		return nil
	})
}

func changedThroughout(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	const after = 4000
	p := harness.ProbePod("throughout", harness.OneShare("3000", "10"))
	p.Spec.Containers[0].Args = []string{"until", fmt.Sprint(after << 20)}
	if _, err := env.Create(p); err != nil {
		return err
	}
	if err := env.WaitRunning("throughout"); err != nil {
		return err
	}
	if err := env.Kill(harness.AgentProcess); err != nil {
		return fmt.Errorf("the agent: %w", err)
	}
	said, no, err := env.RunSet("throughout", "--memory", fmt.Sprintf("%dMi", after), "--timeout", "2s")
	if err != nil || !no || said.Phase == "done" || said.Phase == "refused" {
		return fmt.Errorf("without an agent: %+v: %w", said, err)
	}
	err = env.WaitFor("it is admitted", func() error {
		p, err := env.Get("throughout")
		if state := p.Annotations["divvy.dev/change-state"]; err == nil && !strings.Contains(state, `"phase":"admitted"`) {
			err = fmt.Errorf("its state is %q", state)
		}
		return err
	})
	if err != nil {
		return err
	}
	found, err := env.Ports(harness.DefaultReplica)
	if err != nil {
		return err
	}
	if err := env.Kill(harness.DefaultReplica.Extender()); err != nil {
		return fmt.Errorf("the scheduler: %w", err)
	}
	again := harness.DefaultReplica
	again.Listen = fmt.Sprintf("127.0.0.1:%d", found.Extender)
	if err := env.StartExtender(again); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	seen, err := env.WaitResult("throughout", 0)
	if err == nil {
		err = seen.Limited(after << 20)
	}
	if err != nil {
		return err
	}
	return env.WaitFor("it is written down", func() error {
		p, err := env.Get("throughout")
		if err == nil && !strings.Contains(p.Annotations["divvy.dev/change-state"], `"done"`) {
			err = errors.New(p.Annotations["divvy.dev/change-state"])
		}
		if err == nil && !strings.Contains(p.Annotations[harness.AllocatedKey], ",4000,") {
			err = errors.New(p.Annotations[harness.AllocatedKey])
		}
		return err
	})
}
