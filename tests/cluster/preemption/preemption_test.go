package preemption

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPreemption(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-pod-short-of-processors-and-devices-has-others-end",
			Requirement: "a high-priority pod short of both CPU and device memory, victims with a PDB, a stream of " +
				"small pods competing: only the planned victims go, and the preemptor is bound",
			Run: harness.OnContendedNode("16", jointPreemption)},
		checks.Check{Name: "what-a-budget-protects-is-waited-for",
			Requirement: "PDBs are followed: nothing is evicted while they forbid it, and again with back-off",
			Run:         harness.OnContendedNode("16", budgetForbids)},
		checks.Check{Name: "who-is-protected-or-of-equal-priority-stays",
			Requirement: "eviction protection, priorities and preemptionPolicy: Never", Run: harness.OnContendedNode("16", nobodyEnds)},
		checks.Check{Name: "a-leader-killed-between-evictions-leaves-no-more-to-end",
			Requirement: "leader killed between evictions: nothing more is evicted than a fresh plan needs",
			Run: harness.WithReplicaPair(func(p *harness.ReplicaPair) error {
				return harness.OnContendedNode("16", func(a *harness.ContendedNode) error {
					return killedBetweenEvictions(p,
						a)
				})(p.Env)
			})},
	)
}

func WaitTerminated(a *harness.ContendedNode, names ...string) error {
	want := fmt.Sprint(names)
	return a.WaitFor("these end: "+want, func() error {
		found, err := a.Terminating()
		if err == nil && fmt.Sprint(found) != want {
			err = fmt.Errorf("%v do", found)
		}
		return err
	})
}

func jointPreemption(a *harness.ContendedNode) error {
	protected := a.Pod("guarded", a.Low, "", "5")
	protected.Labels["guard"] = "guard"
	for _, p := range []*core.Pod{a.Pod("device", a.Low, "60000", "1"),
		a.Pod("filler", a.Low, "20000", "1"), protected, a.Pod("bystander", a.High, "", "4")} {
		if err := a.RunPod(p); err != nil {
			return err
		}
	}
	if err := a.CreateBudget("guard", 1); err != nil {
		return err
	}
	if err := a.WaitBudgetAllows("guard", 0); err != nil {
		return err
	}
	// Without this one there would be nobody but the guarded.
	if err := a.RunPod(a.Pod("plain", a.Low, "", "4")); err != nil {
		return err
	}
	const small = 20
	for at := 0; at < small; at++ {
		if _, err := a.Create(a.Pod(fmt.Sprintf("small-%d", at), a.Low, "10000", "100m")); err != nil {
			return err
		}
	}
	began := time.Now()
	if _, err := a.Create(a.Pod("urgent", a.High, "60000", "5")); err != nil {
		return err
	}
	if err := WaitTerminated(a, "device", "plain"); err != nil {
		return err
	}
	planned := time.Since(began)
	if err := a.WaitEvent("device", "Preempted", a.Namespace+"/urgent"); err != nil {
		return err
	}
	if err := a.WaitEvent("urgent", "Preempting", a.Node); err != nil {
		return err
	}
	err := a.WaitFor("it is nominated", func() error {
		urgent, err := a.Get("urgent")
		if err == nil && urgent.Status.NominatedNodeName != a.Node {
			err = fmt.Errorf("the nominated node is %q", urgent.Status.NominatedNodeName)
		}
		return err
	})
	if err != nil {
		return err
	}
	// One is gone: what it leaves is nobody else's while the other takes its time.
	if err := a.Delete("device"); err != nil {
		return err
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := a.NoneBound("small-"); err != nil {
			return err
		}
	}
	left := time.Now()
	if err := a.Delete("plain"); err != nil {
		return err
	}
	if _, err := a.WaitBound("urgent"); err != nil {
		return err
	}
	a.Note = fmt.Sprintf("evicted after %.1f s, bound %.1f s after the last one was gone",
		planned.Seconds(), time.Since(left).Seconds())
	if err := a.NoneBound("small-"); err != nil {
		return err
	}
	for _, name := range []string{"filler", "guarded", "bystander"} {
		p, err := a.Get(name)
		if err == nil && p.DeletionTimestamp != nil {
			err = fmt.Errorf("%s ends, too", name)
		}
		if err != nil {
			return err
		}
	}
	return a.NoneTerminates(time.Second)
}

func budgetForbids(a *harness.ContendedNode) error {
	for _, name := range []string{"one", "two"} {
		p := a.Pod(name, a.Low, "40000", "1")
		p.Labels["guard"] = "guard"
		if err := a.RunPod(p); err != nil {
			return err
		}
	}
	if err := a.CreateBudget("guard", 1); err != nil {
		return err
	}
	if err := a.WaitBudgetAllows("guard", 1); err != nil {
		return err
	}
	// One alone would be allowed, but is not enough.
	if _, err := a.Create(a.Pod("urgent", a.High, "80000", "1")); err != nil {
		return err
	}
	if _, err := a.WaitRefused("urgent"); err != nil {
		return err
	}
	if err := a.NoneTerminates(3 * time.Second); err != nil {
		return err
	}
	none := []byte(`{"spec":{"minAvailable":0}}`)
	if _, err := a.Client.PolicyV1().PodDisruptionBudgets(a.Namespace).Patch(a.Ctx, "guard",
		types.MergePatchType, none, meta.PatchOptions{}); err != nil {
		return err
	}
	if err := WaitTerminated(a, "one", "two"); err != nil {
		return err
	}
	for _, name := range []string{"one", "two"} {
		if err := a.Delete(name); err != nil {
			return err
		}
	}
	_, err := a.WaitBound("urgent")
	return err
}

func nobodyEnds(a *harness.ContendedNode) error {
	fixed := a.Pod("fixed", a.Low, "40000", "1")
	fixed.Annotations = map[string]string{"use.divvy.dev/evictable": "false"}
	for _, p := range []*core.Pod{fixed, a.Pod("equal", a.High, "40000", "1")} {
		if err := a.RunPod(p); err != nil {
			return err
		}
	}
	wrong := a.Pod("wrong", a.Low, "1000", "1")
	wrong.Annotations = map[string]string{"use.divvy.dev/min-runtime": "for ever"}
	if _, err := a.Create(wrong); err == nil || !strings.Contains(err.Error(),
		`min-runtime: time "for ever" is not understood`) {
		return fmt.Errorf("a runtime that is none is answered: %v", err)
	}
	if _, err := a.Create(a.Pod("urgent", a.High, "40000", "1")); err != nil {
		return err
	}
	if err := a.RunPod(a.Pod("small", a.Low, "1000", "1")); err != nil {
		return err
	}
	if _, err := a.Create(a.Pod("polite", a.Polite(), "1500", "1")); err != nil {
		return err
	}
	for _, name := range []string{"polite", "urgent"} {
		if _, err := a.WaitRefused(name); err != nil {
			return err
		}
	}
	return a.NoneTerminates(3 * time.Second)
}

// Four of 20,000 MiB are there, and three would have to end.
func killedBetweenEvictions(p *harness.ReplicaPair, a *harness.ContendedNode) error {
	names := []string{"one", "two", "three", "four"}
	for _, name := range names {
		if err := a.RunPod(a.Pod(name, a.Low, "20000", "1")); err != nil {
			return err
		}
	}
	p.Proxy.HoldAfterOne("/eviction", harness.IsEviction)
	if _, err := a.Create(a.Pod("urgent", a.High, "60000", "1")); err != nil {
		return err
	}
	err := a.WaitFor("one is evicted and the next is on its way", func() error { return p.Proxy.WaitingAtLeast(1) })
	if err != nil {
		return err
	}
	p.Signal(p.A, syscall.SIGKILL)
	first, err := a.Terminating()
	if err != nil {
		return err
	}
	if len(first) != 1 {
		return fmt.Errorf("%v end", first)
	}
	// Another ends by itself meanwhile: now one is enough.
	for _, name := range names {
		if name != first[0] {
			if err := a.Delete(name); err != nil {
				return err
			}
			break
		}
	}
	var second []string
	err = a.WaitFor("two end", func() error {
		second, err = a.Terminating()
		if err == nil && len(second) != 2 {
			err = fmt.Errorf("%v do", second)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range second {
		if err := a.Delete(name); err != nil {
			return err
		}
	}
	if _, err := a.WaitBound("urgent"); err != nil {
		return err
	}
	return a.NoneTerminates(2 * time.Second)
}
