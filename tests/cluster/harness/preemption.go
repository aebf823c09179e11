package harness

import (
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A ContendedNode is a node of one device of 80 GiB, and pods of two priorities that only it has room for.
type ContendedNode struct {
	*Env
	Node      string
	Low, High string // priority classes
}

// OnContendedNode runs a check on a node that has so many processors, and takes it away.
func OnContendedNode(cpu string, run func(*ContendedNode) error) func(*Env) error {
	return func(env *Env) (err error) {
		a := &ContendedNode{env, env.Namespace + "-node", env.Namespace + "-low", env.Namespace + "-high"}
		never := core.PreemptNever
		for name, class := range map[string]*scheduling.PriorityClass{a.Low: {Value: 10},
			a.High: {Value: 1000}, a.Polite(): {Value: 1000, PreemptionPolicy: &never}} {
			class.Name = name
			classes := env.Client.SchedulingV1().PriorityClasses()
			if _, err := classes.Create(env.Ctx, class, meta.CreateOptions{}); err != nil {
				return err
			}
			defer func() { _ = classes.Delete(env.Ctx, name, meta.DeleteOptions{}) }()
		}
		nodes := env.Client.CoreV1().Nodes()
		if _, err := nodes.Create(env.Ctx, a.made(cpu), meta.CreateOptions{}); err != nil {
			return err
		}
		defer func() {
			if gone := nodes.Delete(env.Ctx, a.Node, meta.DeleteOptions{}); err == nil {
				err = gone
			}
		}()
		return run(a)
	}
}

// Polite is as high, and nobody ends for it.
func (a *ContendedNode) Polite() string { return a.High + "-polite" }

func (a *ContendedNode) made(cpu string) *core.Node {
	device := fmt.Sprintf(`[{"id":"GPU-%s","index":0,"count":10,"devmem":%d,"devcore":100,`+
		`"type":"NVIDIA H100 80GB HBM3","mode":"hami-core","health":true}]`, a.Node, DeviceMemoryMiB)
	room := core.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"),
		"pods": resource.MustParse("50")}
	return &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: a.Node,
			Annotations: map[string]string{"hami.io/node-nvidia-register": device},
			Labels:      map[string]string{"kubernetes.io/hostname": a.Node}},
		Status: core.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}}}
}

// Pod is a pod for the arena; no memory: it asks for no device.
func (a *ContendedNode) Pod(name, class, memory, cpu string) *core.Pod {
	limits := Limits{"cpu": cpu}
	if memory != "" {
		limits["nvidia.com/gpu"], limits["nvidia.com/gpumem"] = "1", memory
	}
	p := Pod(name, Container("c", limits))
	p.Labels = map[string]string{"name": name}
	p.Spec.PriorityClassName = class
	p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": a.Node}
	return p
}

// RunPod is what a kubelet would do: the pod is bound, running and ready.
func (a *ContendedNode) RunPod(p *core.Pod) error {
	if _, err := a.Create(p); err != nil {
		return err
	}
	if _, err := a.WaitBound(p.Name); err != nil {
		return err
	}
	status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	_, err := a.Client.CoreV1().Pods(a.Namespace).Patch(a.Ctx, p.Name, types.StrategicMergePatchType, status,
		meta.PatchOptions{}, "status")
	return err
}

// CreateBudget lets so many of the pods of that name end.
func (a *ContendedNode) CreateBudget(name string, least int) error {
	minimum := intstr.FromInt32(int32(least))
	_, err := a.Client.PolicyV1().PodDisruptionBudgets(a.Namespace).Create(a.Ctx,
		&policy.PodDisruptionBudget{ObjectMeta: meta.ObjectMeta{Name: name},
			Spec: policy.PodDisruptionBudgetSpec{MinAvailable: &minimum,
				Selector: &meta.LabelSelector{MatchLabels: map[string]string{"guard": name}}}},
		meta.CreateOptions{})
	return err
}

func (a *ContendedNode) WaitBudgetAllows(name string, count int32) error {
	return a.WaitFor(fmt.Sprintf("budget %s allows %d", name, count), func() error {
		found, err := a.Client.PolicyV1().PodDisruptionBudgets(a.Namespace).Get(a.Ctx, name, meta.GetOptions{})
		if err == nil && (found.Status.ObservedGeneration != found.Generation ||
			found.Status.DisruptionsAllowed != count) {
			err = fmt.Errorf("it allows %d of %d", found.Status.DisruptionsAllowed,
				found.Status.CurrentHealthy)
		}
		return err
	})
}

// Terminating are the names of those who have been told to end and are still there.
func (a *ContendedNode) Terminating() ([]string, error) {
	pods, err := a.Client.CoreV1().Pods(a.Namespace).List(a.Ctx, meta.ListOptions{})
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

// NoneTerminates: for as long as a plan would have taken many times over.
func (a *ContendedNode) NoneTerminates(span time.Duration) error {
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		found, err := a.Terminating()
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%v end", found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *ContendedNode) NoneBound(prefix string) error {
	pods, err := a.Client.CoreV1().Pods(a.Namespace).List(a.Ctx, meta.ListOptions{})
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

func (a *ContendedNode) WaitEvent(name, reason, words string) error {
	return a.WaitFor("an Event says "+reason+" of "+name, func() error {
		events, err := a.Client.CoreV1().Events(a.Namespace).List(a.Ctx, meta.ListOptions{
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
