package gangs

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	gangKey    = "use.divvy.dev/gang"
	gangMinKey = "use.divvy.dev/gang-min"
)

func TestGangs(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-gang-starts-whole-or-not-at-all",
			Requirement: "a gang of 4 starts whole or not at all; too few members wait with a reason", Run: gangOfFour},
		checks.Check{Name: "a-gang-is-recognised-in-others'-words",
			Requirement: "gangs of scheduler-plugins, Kueue and Jobs that say so", Run: podGroupKinds},
		checks.Check{Name: "a-gang-short-of-processors-waits-whole",
			Requirement: "a gang without processors for all of it: no gate is taken away; it is spread where that helps",
			Run:         gangProcessors},
		checks.Check{Name: "kills-between-gates-leave-no-gang-in-part",
			Requirement: "controller SIGKILLed between any two gate removals: the gang starts whole or not at all",
			Run:         harness.WithReplicaPair(killedBetweenGates)},
	)
}

func member(name, gang string, least int) *core.Pod {
	return harness.WithAnnotations(harness.WholeDevicePod(name), gangKey, gang, gangMinKey, fmt.Sprint(least))
}

// fill leaves so many cards free.
func fill(env *harness.Env, free int) error {
	for at := 0; at < harness.NodeCount*harness.DevicesPerNode-free; at++ {
		if _, err := env.Create(harness.WholeDevicePod(fmt.Sprintf("fill-%d", at))); err != nil {
			return err
		}
	}
	return env.WaitCounts("fill-", harness.NodeCount*harness.DevicesPerNode-free, 0)
}

func gangOfFour(env *harness.Env) error {
	if err := fill(env, 3); err != nil {
		return err
	}
	name := "gangs-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	for at := 0; at < 3; at++ {
		made := harness.WithAnnotations(member(fmt.Sprintf("g%d", at), "g", 4), harness.QueueKey, name)
		if _, err := env.Create(made); err != nil {
			return err
		}
	}
	if err := env.WaitQueuePending(name, 3, "3 of 4 members of the gang are there"); err != nil {
		return err
	}
	if _, err := env.Create(harness.WithAnnotations(member("g3", "g", 4), harness.QueueKey, name)); err != nil {
		return err
	}
	if err := env.WaitQueuePending(name, 4, "3 of 4 members fit"); err != nil {
		return err
	}
	if bound, waiting, err := env.CountPods("g"); err != nil || bound != 0 || waiting != 4 {
		return fmt.Errorf("%d are bound, %d wait: %v", bound, waiting, err)
	}
	if err := env.Delete("fill-0"); err != nil {
		return err
	}
	began := time.Now()
	if err := env.WaitCounts("g", 4, 0); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("all four bound %.0f ms after the room came",
		float64(time.Since(began).Microseconds())/1000)
	return env.NoDeviceTwice()
}

// Of so many processors one fits a node.
func gangProcessors(env *harness.Env) error {
	name := "wide-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	for _, gang := range []string{"g", "h"} {
		members := harness.NodeCount
		if gang == "g" {
			members++
		}
		for at := 0; at < members; at++ {
			made := harness.WithAnnotations(harness.Pod(fmt.Sprintf("%s%d", gang, at),
				harness.Container("c", harness.Limits{"nvidia.com/gpu": "1", "cpu": "100"})), gangKey, gang, gangMinKey,
				fmt.Sprint(members), harness.QueueKey, name)
			if _, err := env.Create(made); err != nil {
				return err
			}
		}
		if gang == "h" {
			if err := env.WaitCounts("h", members, 0); err != nil {
				return err
			}
			continue
		}
		if err := env.WaitQueuePending(name, members, "find too little CPU or memory"); err != nil {
			return err
		}
		if err := env.WaitCounts("g", 0, members); err != nil {
			return err
		}
	}
	return env.NoDeviceTwice()
}

func podGroupKinds(env *harness.Env) error {
	words := map[string]func(p *core.Pod){
		"kueue": func(p *core.Pod) {
			p.Labels = map[string]string{"kueue.x-k8s.io/pod-group-name": "k"}
			harness.WithAnnotations(p, "kueue.x-k8s.io/pod-group-total-count", "2")
		},
		"plugins": func(p *core.Pod) {
			p.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "s"}
			harness.WithAnnotations(p, gangMinKey, "2")
		},
		"job": func(p *core.Pod) {
			p.Labels = map[string]string{"batch.kubernetes.io/job-name": "j"}
			harness.WithAnnotations(p, gangMinKey, "2")
		},
	}
	for name, say := range words {
		first, second := harness.WholeDevicePod(name+"-1"), harness.WholeDevicePod(name+"-2")
		say(first)
		say(second)
		made, err := env.Create(first)
		if err == nil && !harness.IsGated(made) {
			err = fmt.Errorf("%s: it has no gate", name)
		}
		if err != nil {
			return err
		}
		if _, err := env.Create(second); err != nil {
			return err
		}
		if err := env.WaitCounts(name, 2, 0); err != nil {
			return err
		}
	}
	_, err := env.Create(harness.WithAnnotations(harness.WholeDevicePod("wrong"), gangKey, "g", gangMinKey, "none"))
	if err == nil || !strings.Contains(err.Error(), gangMinKey) {
		return fmt.Errorf("a gang of \"none\": %v", err)
	}
	return nil
}

// killedBetweenGates kills the leader's extender when so many gates of a gang are gone: the other
// calls are held up, and arrive when its successor has long begun.
func killedBetweenGates(p *harness.ReplicaPair) error {
	const members = 4
	if err := fill(p.Env, members); err != nil {
		return err
	}
	queue := "killed-" + p.Namespace
	away, err := p.CreateQueue(queue, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	found, err := p.Ports(p.A)
	if err != nil {
		return err
	}
	p.A.Listen = strings.TrimPrefix(harness.LocalURL("http", found.Extender), "http://")
	for gone := 1; gone < members; gone++ {
		if err := killAfter(p, gone, members, queue); err != nil {
			return fmt.Errorf("killed after %d gates: %w", gone, err)
		}
	}
	p.Note = fmt.Sprintf("killed after 1, 2 and 3 of %d gates; while no node was to be had nobody was "+
		"bound", members)
	return nil
}

func killAfter(p *harness.ReplicaPair, gone, members int, queue string) error {
	prefix := fmt.Sprintf("g%d-", gone)
	opened := 0
	p.Proxy.Mutex.Lock()
	p.Proxy.Holds = func(r *http.Request) bool {
		// What is said of a pod, in its status, takes no gate away.
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/pods/"+prefix) ||
			strings.HasSuffix(r.URL.Path, "/status") {
			return false
		}
		opened++
		return opened > gone
	}
	p.Proxy.Mutex.Unlock()
	p.Proxy.Hold()
	for at := 0; at < members; at++ {
		made := harness.WithAnnotations(member(fmt.Sprintf("%s%d", prefix, at), prefix+"gang", members), harness.QueueKey,
			queue)
		if _, err := p.Create(made); err != nil {
			return err
		}
	}
	err := p.WaitFor("the others' gates are held up", func() error { return p.Proxy.WaitingAtLeast(members - gone) })
	if err == nil {
		err = p.WaitCounts(prefix, 0, members-gone)
	}
	if err == nil {
		err = p.Kill(p.A.Extender())
	}
	if err != nil {
		return err
	}
	late := p.Proxy.HoldOnlyWaiting()
	arrive := sync.OnceFunc(func() { close(late) })
	defer arrive()
	// Once the successor finds no room for what was promised: all of it is given back.
	if gone == 2 {
		if err := cordon(p.Env, true); err != nil {
			return err
		}
	}
	if err := p.StartExtender(p.A); err != nil {
		return err
	}
	if gone == 2 {
		if err := p.WaitQueuePending(queue, members, "members fit at most"); err != nil {
			return err
		}
		if err := p.WaitCounts(prefix, 0, members-gone); err != nil {
			return err
		}
		if err := cordon(p.Env, false); err != nil {
			return err
		}
	}
	if err := p.WaitCounts(prefix, members, 0); err != nil {
		return err
	}
	arrive()
	if err := p.NoDeviceTwice(); err != nil {
		return err
	}
	for at := 0; at < members; at++ {
		if err := p.Delete(fmt.Sprintf("%s%d", prefix, at)); err != nil {
			return err
		}
	}
	return nil
}

func cordon(env *harness.Env, closed bool) error {
	nodes, err := env.Client.CoreV1().Nodes().List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	patch := []byte(fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, closed))
	for at := range nodes.Items {
		_, err := env.Client.CoreV1().Nodes().Patch(env.Ctx, nodes.Items[at].Name, types.MergePatchType,
			patch, meta.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
