package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func init() {
	checks = append(checks,
		check{"a-pod-short-of-processors-and-devices-has-others-end",
			"a high-priority pod short of both CPU and device memory, victims with a PDB, a stream of " +
				"small pods competing: only the planned victims go, and the preemptor is bound",
			onArena("16", jointPreemption)},
		check{"what-a-budget-protects-is-waited-for",
			"PDBs are followed: nothing is evicted while they forbid it, and again with back-off",
			onArena("16", budgetForbids)},
		check{"who-is-protected-or-of-equal-priority-stays",
			"eviction protection, priorities and preemptionPolicy: Never", onArena("16", nobodyEnds)},
		check{"a-leader-killed-between-evictions-leaves-no-more-to-end",
			"leader killed between evictions: nothing more is evicted than a fresh plan needs",
			withPair(func(p *pair) error { return onArena("16", p.killedBetweenEvictions)(p.world) })},
	)
}

// An arena is a node of one device of 80 GiB, and pods of two priorities that only it has room for.
type arena struct {
	*world
	node      string
	low, high string // priority classes
}

// onArena runs a check on a node that has so many processors, and takes it away.
func onArena(cpu string, run func(*arena) error) func(*world) error {
	return func(w *world) (err error) {
		a := &arena{w, w.space + "-node", w.space + "-low", w.space + "-high"}
		never := core.PreemptNever
		for name, class := range map[string]*scheduling.PriorityClass{a.low: {Value: 10},
			a.high: {Value: 1000}, a.polite(): {Value: 1000, PreemptionPolicy: &never}} {
			class.Name = name
			classes := w.client.SchedulingV1().PriorityClasses()
			if _, err := classes.Create(w.ctx, class, meta.CreateOptions{}); err != nil {
				return err
			}
			defer func() { _ = classes.Delete(w.ctx, name, meta.DeleteOptions{}) }()
		}
		nodes := w.client.CoreV1().Nodes()
		if _, err := nodes.Create(w.ctx, a.made(cpu), meta.CreateOptions{}); err != nil {
			return err
		}
		defer func() {
			if gone := nodes.Delete(w.ctx, a.node, meta.DeleteOptions{}); err == nil {
				err = gone
			}
		}()
		return run(a)
	}
}

// polite is as high, and nobody ends for it.
func (a *arena) polite() string { return a.high + "-polite" }

func (a *arena) made(cpu string) *core.Node {
	device := fmt.Sprintf(`[{"id":"GPU-%s","index":0,"count":10,"devmem":%d,"devcore":100,`+
		`"type":"NVIDIA H100 80GB HBM3","mode":"hami-core","health":true}]`, a.node, checkMemoryMi)
	room := core.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"),
		"pods": resource.MustParse("50")}
	return &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: a.node,
			Annotations: map[string]string{"hami.io/node-nvidia-register": device},
			Labels:      map[string]string{"kubernetes.io/hostname": a.node}},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}}
}

// asked is a pod for the arena; no memory: it asks for no device.
func (a *arena) asked(name, class, memory, cpu string) *core.Pod {
	limits := asks{"cpu": cpu}
	if memory != "" {
		limits["nvidia.com/gpu"], limits["nvidia.com/gpumem"] = "1", memory
	}
	p := pod(name, container("c", limits))
	p.Labels = map[string]string{"name": name}
	p.Spec.PriorityClassName = class
	p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": a.node}
	return p
}

// runs is what a kubelet would do: the pod is bound, running and ready.
func (a *arena) runs(p *core.Pod) error {
	if _, err := a.create(p); err != nil {
		return err
	}
	if _, err := a.bound(p.Name); err != nil {
		return err
	}
	status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	_, err := a.client.CoreV1().Pods(a.space).Patch(a.ctx, p.Name, types.StrategicMergePatchType, status,
		meta.PatchOptions{}, "status")
	return err
}

// budget lets so many of the pods of that name end.
func (a *arena) budget(name string, least int) error {
	minimum := intstr.FromInt32(int32(least))
	_, err := a.client.PolicyV1().PodDisruptionBudgets(a.space).Create(a.ctx,
		&policy.PodDisruptionBudget{ObjectMeta: meta.ObjectMeta{Name: name},
			Spec: policy.PodDisruptionBudgetSpec{MinAvailable: &minimum,
				Selector: &meta.LabelSelector{MatchLabels: map[string]string{"guard": name}}}},
		meta.CreateOptions{})
	return err
}

func (a *arena) budgetAllows(name string, count int32) error {
	return a.until(fmt.Sprintf("budget %s allows %d", name, count), func() error {
		found, err := a.client.PolicyV1().PodDisruptionBudgets(a.space).Get(a.ctx, name, meta.GetOptions{})
		if err == nil && (found.Status.ObservedGeneration != found.Generation ||
			found.Status.DisruptionsAllowed != count) {
			err = fmt.Errorf("it allows %d of %d", found.Status.DisruptionsAllowed,
				found.Status.CurrentHealthy)
		}
		return err
	})
}

// ending are the names of those who have been told to end and are still there.
func (a *arena) ending() ([]string, error) {
	pods, err := a.client.CoreV1().Pods(a.space).List(a.ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for at := range pods.Items {
		if pods.Items[at].DeletionTimestamp != nil {
			names = append(names, pods.Items[at].Name)
		}
	}
	return names, nil
}

func (a *arena) end(names ...string) error {
	want := fmt.Sprint(names)
	return a.until("these end: "+want, func() error {
		found, err := a.ending()
		if err == nil && fmt.Sprint(found) != want {
			err = fmt.Errorf("%v do", found)
		}
		return err
	})
}

// noneEnds: for as long as a plan would have taken many times over.
func (a *arena) noneEnds(span time.Duration) error {
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		found, err := a.ending()
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%v end", found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *arena) unbound(prefix string) error {
	pods, err := a.client.CoreV1().Pods(a.space).List(a.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range pods.Items {
		one := &pods.Items[at]
		if strings.HasPrefix(one.Name, prefix) && one.Spec.NodeName != "" {
			return fmt.Errorf("%s was let in between", one.Name)
		}
	}
	return nil
}

func (a *arena) told(name, reason, words string) error {
	return a.until("an Event says "+reason+" of "+name, func() error {
		events, err := a.client.CoreV1().Events(a.space).List(a.ctx, meta.ListOptions{
			FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
		if err != nil {
			return err
		}
		for at := range events.Items {
			if strings.Contains(events.Items[at].Message, words) {
				return nil
			}
		}
		return fmt.Errorf("none of %d Events says %q", len(events.Items), words)
	})
}

func jointPreemption(a *arena) error {
	guarded := a.asked("guarded", a.low, "", "5")
	guarded.Labels["guard"] = "guard"
	for _, p := range []*core.Pod{a.asked("device", a.low, "60000", "1"),
		a.asked("filler", a.low, "20000", "1"), guarded, a.asked("bystander", a.high, "", "4")} {
		if err := a.runs(p); err != nil {
			return err
		}
	}
	if err := a.budget("guard", 1); err != nil {
		return err
	}
	if err := a.budgetAllows("guard", 0); err != nil {
		return err
	}
	// Without this one there would be nobody but the guarded.
	if err := a.runs(a.asked("plain", a.low, "", "4")); err != nil {
		return err
	}
	const small = 20
	for at := 0; at < small; at++ {
		if _, err := a.create(a.asked(fmt.Sprintf("small-%d", at), a.low, "10000", "100m")); err != nil {
			return err
		}
	}
	began := time.Now()
	if _, err := a.create(a.asked("urgent", a.high, "60000", "5")); err != nil {
		return err
	}
	if err := a.end("device", "plain"); err != nil {
		return err
	}
	planned := time.Since(began)
	if err := a.told("device", "Preempted", a.space+"/urgent"); err != nil {
		return err
	}
	if err := a.told("urgent", "Preempting", a.node); err != nil {
		return err
	}
	err := a.until("it is nominated", func() error {
		urgent, err := a.get("urgent")
		if err == nil && urgent.Status.NominatedNodeName != a.node {
			err = fmt.Errorf("the nominated node is %q", urgent.Status.NominatedNodeName)
		}
		return err
	})
	if err != nil {
		return err
	}
	// One is gone: what it leaves is nobody else's while the other takes its time.
	if err := a.remove("device"); err != nil {
		return err
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := a.unbound("small-"); err != nil {
			return err
		}
	}
	left := time.Now()
	if err := a.remove("plain"); err != nil {
		return err
	}
	if _, err := a.bound("urgent"); err != nil {
		return err
	}
	a.note = fmt.Sprintf("evicted after %.1f s, bound %.1f s after the last one was gone",
		planned.Seconds(), time.Since(left).Seconds())
	if err := a.unbound("small-"); err != nil {
		return err
	}
	for _, name := range []string{"filler", "guarded", "bystander"} {
		p, err := a.get(name)
		if err == nil && p.DeletionTimestamp != nil {
			err = fmt.Errorf("%s ends, too", name)
		}
		if err != nil {
			return err
		}
	}
	return a.noneEnds(time.Second)
}

func budgetForbids(a *arena) error {
	for _, name := range []string{"one", "two"} {
		p := a.asked(name, a.low, "40000", "1")
		p.Labels["guard"] = "guard"
		if err := a.runs(p); err != nil {
			return err
		}
	}
	if err := a.budget("guard", 1); err != nil {
		return err
	}
	if err := a.budgetAllows("guard", 1); err != nil {
		return err
	}
	// One alone would be allowed, but is not enough.
	if _, err := a.create(a.asked("urgent", a.high, "80000", "1")); err != nil {
		return err
	}
	if _, err := a.refused("urgent"); err != nil {
		return err
	}
	if err := a.noneEnds(3 * time.Second); err != nil {
		return err
	}
	none := []byte(`{"spec":{"minAvailable":0}}`)
	if _, err := a.client.PolicyV1().PodDisruptionBudgets(a.space).Patch(a.ctx, "guard",
		types.MergePatchType, none, meta.PatchOptions{}); err != nil {
		return err
	}
	if err := a.end("one", "two"); err != nil {
		return err
	}
	for _, name := range []string{"one", "two"} {
		if err := a.remove(name); err != nil {
			return err
		}
	}
	_, err := a.bound("urgent")
	return err
}

func nobodyEnds(a *arena) error {
	fixed := a.asked("fixed", a.low, "40000", "1")
	fixed.Annotations = map[string]string{"use.divvy.dev/evictable": "false"}
	for _, p := range []*core.Pod{fixed, a.asked("equal", a.high, "40000", "1")} {
		if err := a.runs(p); err != nil {
			return err
		}
	}
	wrong := a.asked("wrong", a.low, "1000", "1")
	wrong.Annotations = map[string]string{"use.divvy.dev/min-runtime": "for ever"}
	if _, err := a.create(wrong); err == nil || !strings.Contains(err.Error(), `min-runtime: time "for ever" is not understood`) {
		return fmt.Errorf("a runtime that is none is answered: %v", err)
	}
	if _, err := a.create(a.asked("urgent", a.high, "40000", "1")); err != nil {
		return err
	}
	if err := a.runs(a.asked("small", a.low, "1000", "1")); err != nil {
		return err
	}
	if _, err := a.create(a.asked("polite", a.polite(), "1500", "1")); err != nil {
		return err
	}
	for _, name := range []string{"polite", "urgent"} {
		if _, err := a.refused(name); err != nil {
			return err
		}
	}
	return a.noneEnds(3 * time.Second)
}

// Four of 20,000 MiB are there, and three would have to end.
func (p *pair) killedBetweenEvictions(a *arena) error {
	names := []string{"one", "two", "three", "four"}
	for _, name := range names {
		if err := a.runs(a.asked(name, a.low, "20000", "1")); err != nil {
			return err
		}
	}
	p.gate.holdAfterOne("/eviction", isEviction)
	if _, err := a.create(a.asked("urgent", a.high, "60000", "1")); err != nil {
		return err
	}
	err := a.until("one is evicted and the next is on its way", func() error { return p.gate.holds(1) })
	if err != nil {
		return err
	}
	p.signal(p.a, syscall.SIGKILL)
	first, err := a.ending()
	if err != nil {
		return err
	}
	if len(first) != 1 {
		return fmt.Errorf("%v end", first)
	}
	// Another ends by itself meanwhile: now one is enough.
	for _, name := range names {
		if name != first[0] {
			if err := a.remove(name); err != nil {
				return err
			}
			break
		}
	}
	var second []string
	err = a.until("two end", func() error {
		second, err = a.ending()
		if err == nil && len(second) != 2 {
			err = fmt.Errorf("%v do", second)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range second {
		if err := a.remove(name); err != nil {
			return err
		}
	}
	if _, err := a.bound("urgent"); err != nil {
		return err
	}
	return a.noneEnds(2 * time.Second)
}
