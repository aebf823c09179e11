package gangs

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	scheduling "k8s.io/api/scheduling/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGangPreemption(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-gang-of-higher-priority-has-others-end",
			Requirement: "a high-priority gang makes room for all of it, keeps it, and starts whole", Run: gangPreempts},
		checks.Check{Name: "a-leader-killed-while-a-gang-has-others-end-leaves-it-whole",
			Requirement: "leader killed between evictions for a gang: no more are evicted than it needs, it starts whole",
			Run:         harness.WithReplicaPair(killedWhileGangPreempts)},
	)
}

const upper = 4 // members of the gang

// upperGang are pods of higher priority than all others, that start together; they want a queue.
func upperGang(env *harness.Env, queue string) (func(), error) {
	class := env.Namespace + "-upper"
	classes := env.Client.SchedulingV1().PriorityClasses()
	_, err := classes.Create(env.Ctx, &scheduling.PriorityClass{
		ObjectMeta: meta.ObjectMeta{Name: class}, Value: 1000}, meta.CreateOptions{})
	for at := 0; err == nil && at < upper; at++ {
		made := harness.WithAnnotations(member(fmt.Sprintf("g%d", at), "g", upper), harness.QueueKey, queue)
		made.Spec.PriorityClassName = class
		_, err = env.Create(made)
	}
	return func() { _ = classes.Delete(env.Ctx, class, meta.DeleteOptions{}) }, err
}

func gangPreempts(env *harness.Env) error {
	a := &harness.ContendedNode{Env: env}
	if err := fill(env, 0); err != nil {
		return err
	}
	name := "upper-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	began := time.Now()
	forget, err := upperGang(env, name)
	defer forget()
	if err != nil {
		return err
	}
	names, err := a.WaitTerminating(upper)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := env.WaitQueuePending(name, upper, "for it: of lower priority"); err != nil {
		return err
	}
	if err := a.WaitEvent(names[0], "Preempted", "its priority is 1000"); err != nil {
		return err
	}
	// Made anew, as a controller would, without a gate.
	if _, err := env.Create(harness.WholeDevicePod("fill-again")); err != nil {
		return err
	}
	for _, name := range names[1:] {
		if err := env.Delete(name); err != nil {
			return err
		}
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, prefix := range []string{"g", "fill-again"} {
			if err := a.NoneBound(prefix); err != nil {
				return err
			}
		}
	}
	if err := env.Delete(names[0]); err != nil {
		return err
	}
	if err := env.WaitCounts("g", upper, 0); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%d evicted %.1f s after the first of %d members was made", upper,
		took.Seconds(), upper)
	if err := a.NoneTerminates(2 * time.Second); err != nil {
		return err
	}
	return env.NoDeviceTwice()
}

func killedWhileGangPreempts(p *harness.ReplicaPair) error {
	a := &harness.ContendedNode{Env: p.Env}
	if err := fill(p.Env, 0); err != nil {
		return err
	}
	name := "upper-" + p.Namespace
	away, err := p.CreateQueue(name, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	p.Proxy.HoldAfterOne("/eviction", harness.IsEviction)
	forget, err := upperGang(p.Env, name)
	defer forget()
	if err != nil {
		return err
	}
	err = p.WaitFor("one is evicted and the next is on its way", func() error { return p.Proxy.WaitingAtLeast(1) })
	if err != nil {
		return err
	}
	p.Signal(p.A, syscall.SIGKILL)
	names, err := a.WaitTerminating(upper)
	if err != nil {
		return err
	}
	for _, one := range names {
		if err := p.Delete(one); err != nil {
			return err
		}
	}
	if err := p.WaitCounts("g", upper, 0); err != nil {
		return err
	}
	if err := a.NoneTerminates(2 * time.Second); err != nil {
		return err
	}
	return p.NoDeviceTwice()
}
