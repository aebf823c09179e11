package harness

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// How long something may take that a cluster does at once; only a broken one needs it all.
var checkBound = scaledByPatience(60 * time.Second)

// A Skip is why a check cannot be made on this machine.
type Skip struct{ Cause error }

func (s Skip) Error() string { return s.Cause.Error() }

// An Env is what a check acts on: a namespace of its own in a cluster with Divvy.
type Env struct {
	*Installation
	Ctx       context.Context
	Client    *kubernetes.Clientset
	Namespace string
	Note      string
}

// Try runs a check in a namespace of its own. An exclusive one waits until no pods hold devices.
func (env *Env) Try(exclusive bool, run func(*Env) error) error {
	env.Namespace, env.Note = fmt.Sprintf("check-%d-%d", tries.Add(1), time.Now().UnixMilli()), ""
	if exclusive {
		if err := env.WaitDevicesFree(); err != nil {
			return err
		}
	}
	return env.InNamespace(run)
}

// tries counts namespaces of checks: two that are made in the same millisecond differ.
var tries atomic.Int64

// WaitDevicesFree: nobody else's pods hold devices, nor an earlier check's.
func (env *Env) WaitDevicesFree() error {
	return env.WaitFor("nobody else holds devices", func() error {
		count, _, err := env.Allocations()
		if err == nil && len(count) > 0 {
			err = fmt.Errorf("pods hold %s: delete them", strings.Join(sorted(count), ", "))
		}
		return err
	})
}

// Reinstall starts all of Divvy's parts anew.
func (env *Env) Reinstall() error {
	if err := env.Installation.Remove(); err != nil {
		return err
	}
	return env.Install(env.Ctx)
}

// InNamespace makes the namespace and takes it away, with all that was in it, at once.
func (env *Env) InNamespace(run func(*Env) error) error {
	spaces := env.Client.CoreV1().Namespaces()
	_, err := spaces.Create(env.Ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: env.Namespace}},
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	err = env.WaitFor("the namespace's service account", func() error {
		_, err := env.Client.CoreV1().ServiceAccounts(env.Namespace).Get(env.Ctx, "default", meta.GetOptions{})
		return err
	})
	if err == nil {
		err = run(env)
	}
	// First: while it ends nobody is made in it any more, by a controller whose pods go.
	gone := spaces.Delete(env.Ctx, env.Namespace, meta.DeleteOptions{})
	if err == nil {
		err = gone
	}
	none := int64(0)
	gone = env.Client.CoreV1().Pods(env.Namespace).DeleteCollection(env.Ctx,
		meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err == nil {
		err = gone
	}
	return err
}

// WaitFor asks again and again, within the bound.
func (env *Env) WaitFor(what string, so func() error) error {
	end := time.Now().Add(checkBound)
	for {
		err := so()
		if err == nil {
			return nil
		}
		if env.Ctx.Err() != nil {
			return env.Ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v: %w", what, checkBound, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Limits are limits of a container: "nvidia.com/gpu": "1".
type Limits map[string]string

func Container(name string, limits Limits) core.Container {
	made := core.Container{Name: name, Image: "registry.invalid/none",
		Resources: core.ResourceRequirements{Limits: core.ResourceList{}}}
	for resourceName, amount := range limits {
		made.Resources.Limits[core.ResourceName(resourceName)] = resource.MustParse(amount)
	}
	return made
}

func Pod(name string, containers ...core.Container) *core.Pod {
	return &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: core.PodSpec{Containers: containers}}
}

func (env *Env) Create(p *core.Pod) (*core.Pod, error) {
	return env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, p, meta.CreateOptions{})
}

func (env *Env) Get(name string) (*core.Pod, error) {
	return env.Client.CoreV1().Pods(env.Namespace).Get(env.Ctx, name, meta.GetOptions{})
}

func (env *Env) Delete(name string) error {
	none := int64(0)
	return env.Client.CoreV1().Pods(env.Namespace).Delete(env.Ctx, name,
		meta.DeleteOptions{GracePeriodSeconds: &none})
}

// WaitBound is the pod once it is on a node.
func (env *Env) WaitBound(name string) (*core.Pod, error) {
	var found *core.Pod
	err := env.WaitFor(name+" is bound", func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName == "" {
			return fmt.Errorf("it waits: %s", UnschedulableMessage(p))
		}
		found = p
		return nil
	})
	return found, err
}

// WaitRefused is what the pod's condition says once kube-scheduler has found no node.
func (env *Env) WaitRefused(name string) (string, error) { return env.WaitRefusedFor(name, "") }

// WaitRefusedFor waits until it says these words: what comes first may be of a node as it was before.
func (env *Env) WaitRefusedFor(name, words string) (string, error) {
	var why string
	err := env.WaitFor(name+" is found to fit nowhere", func() error {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" {
			return fmt.Errorf("it is on %s", p.Spec.NodeName)
		}
		if why = UnschedulableMessage(p); why == "" {
			return fmt.Errorf("nothing is said of it yet")
		}
		if !strings.Contains(why, words) {
			return fmt.Errorf("%q is said of it, and not %q", why, words)
		}
		return nil
	})
	return why, err
}

func UnschedulableMessage(p *core.Pod) string {
	for _, one := range p.Status.Conditions {
		if one.Type == core.PodScheduled && one.Status == core.ConditionFalse {
			return one.Message
		}
	}
	return ""
}

const (
	AllocatedKey    = "hami.io/vgpu-devices-allocated"
	AssignedNodeKey = "hami.io/vgpu-node"
)

// A share is one device of one container, as an annotation says it. It is read here by its
// documented form and not by our own codec: the two must not agree in their mistakes.
type share struct{ UUID, Kind, Memory, Cores string }

func SharesOf(p *core.Pod) ([][]share, error) {
	text := p.Annotations[AllocatedKey]
	if !strings.HasSuffix(text, ";") {
		return nil, fmt.Errorf("%s is %q", AllocatedKey, text)
	}
	var all [][]share
	for _, one := range strings.Split(strings.TrimSuffix(text, ";"), ";") {
		var shares []share
		for _, device := range strings.Split(strings.TrimSuffix(one, ":"), ":") {
			if device == "" {
				continue
			}
			fields := strings.Split(device, ",")
			if len(fields) != 4 {
				return nil, fmt.Errorf("%q of %q has not four fields", device, text)
			}
			shares = append(shares, share{fields[0], fields[1], fields[2], fields[3]})
		}
		all = append(all, shares)
	}
	return all, nil
}

// Allocations adds up what pods of all namespaces hold: number of shares and MiB, by device.
func (env *Env) Allocations() (map[string]int, map[string]int, error) {
	pods, err := env.Client.CoreV1().Pods("").List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	count, memory := map[string]int{}, map[string]int{}
	for at := range pods.Items {
		p := &pods.Items[at]
		if p.Annotations[AllocatedKey] == "" {
			continue
		}
		shares, err := SharesOf(p)
		if err != nil {
			return nil, nil, err
		}
		for _, list := range shares {
			for _, one := range list {
				var mebibytes int
				if _, err := fmt.Sscan(one.Memory, &mebibytes); err != nil {
					return nil, nil, fmt.Errorf("%s: memory %q", p.Name, one.Memory)
				}
				count[one.UUID]++
				memory[one.UUID] += mebibytes
			}
		}
	}
	return count, memory, nil
}

func sorted(from map[string]int) []string {
	var keys []string
	for key := range from {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
