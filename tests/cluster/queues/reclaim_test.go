package queues

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestReclaim(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-queue-takes-back-what-it-is-guaranteed",
			Requirement: "reclaim: who borrowed ends by the Eviction API, no more of them than is owed, and what they " +
				"leave is nobody else's", Run: queueReclaims},
		checks.Check{Name: "a-queue-that-does-not-take-back-waits", Requirement: "reclaim: never", Run: queueWaits},
		checks.Check{Name: "a-leader-killed-between-reclaims-leaves-no-more-to-end",
			Requirement: "leader killed between evictions for a queue: nobody is evicted twice for the same need",
			Run:         harness.WithReplicaPair(killedBetweenReclaims)},
	)
}

const reclaimed = 2

// lend makes two queues: all cards are lent to `theirs`, two of them are guaranteed to `ours`.
func lend(env *harness.Env, reclaim string) (ours, theirs string, away func(), err error) {
	const all = harness.NodeCount * harness.DevicesPerNode
	ours, theirs = "owner-"+env.Namespace, "borrower-"+env.Namespace
	first, err := env.CreateQueue(ours, harness.QueueSpec{Guarantee: harness.DeviceAmount(reclaimed), Reclaim: reclaim})
	if err != nil {
		return ours, theirs, first, err
	}
	second, err := env.CreateQueue(theirs, harness.QueueSpec{Guarantee: harness.DeviceAmount(all - reclaimed)})
	away = func() { first(); second() }
	for at := 0; err == nil && at < all; at++ {
		_, err = env.Create(harness.WithAnnotations(harness.WholeDevicePod(fmt.Sprintf("b%d", at)), harness.QueueKey, theirs))
	}
	if err == nil {
		err = env.WaitCounts("b", all, 0)
	}
	return ours, theirs, away, err
}

// owed are pods of the queue, by these names.
func owed(env *harness.Env, queue string, names ...string) error {
	for _, name := range names {
		if _, err := env.Create(harness.WithAnnotations(harness.WholeDevicePod(name), harness.QueueKey, queue)); err != nil {
			return err
		}
	}
	return nil
}

func queueReclaims(env *harness.Env) error {
	a := &harness.ContendedNode{Env: env}
	ours, theirs, away, err := lend(env, "")
	defer away()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := owed(env, ours, "o1", "o2", "o3"); err != nil {
		return err
	}
	names, err := a.WaitTerminating(reclaimed)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := env.WaitQueuePending(ours, 3, "reclaims its guarantee"); err != nil {
		return err
	}
	if err := a.WaitEvent(names[0], "Reclaimed", ours); err != nil {
		return err
	}
	// Made anew, as a controller would.
	if err := owed(env, theirs, "b-again"); err != nil {
		return err
	}
	if err := env.Delete(names[0]); err != nil {
		return err
	}
	if err := env.WaitCounts("o", 1, 2); err != nil {
		return err
	}
	if err := env.Delete(names[1]); err != nil {
		return err
	}
	if err := env.WaitCounts("o", 2, 1); err != nil {
		return err
	}
	// More is not guaranteed.
	if err := a.NoneTerminates(3 * time.Second); err != nil {
		return err
	}
	if err := a.NoneBound("b-again"); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%d of %d evicted %.1f s after the first pod of the queue was made", reclaimed,
		harness.NodeCount*harness.DevicesPerNode, took.Seconds())
	return env.NoDeviceTwice()
}

func queueWaits(env *harness.Env) error {
	a := &harness.ContendedNode{Env: env}
	ours, _, away, err := lend(env, "never")
	defer away()
	if err != nil {
		return err
	}
	if err := owed(env, ours, "o1"); err != nil {
		return err
	}
	if err := env.WaitQueuePending(ours, 1, "fits on no node"); err != nil {
		return err
	}
	return a.NoneTerminates(3 * time.Second)
}

func killedBetweenReclaims(p *harness.ReplicaPair) error {
	a := &harness.ContendedNode{Env: p.Env}
	ours, _, away, err := lend(p.Env, "")
	defer away()
	if err != nil {
		return err
	}
	p.Proxy.HoldAfterOne("/eviction", harness.IsEviction)
	if err := owed(p.Env, ours, "o1", "o2"); err != nil {
		return err
	}
	err = p.WaitFor("one is evicted and the next is on its way", func() error { return p.Proxy.WaitingAtLeast(1) })
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
	names, err := a.WaitTerminating(reclaimed)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.Delete(name); err != nil {
			return err
		}
	}
	if err := p.WaitCounts("o", 2, 0); err != nil {
		return err
	}
	if err := a.NoneTerminates(2 * time.Second); err != nil {
		return err
	}
	return p.NoDeviceTwice()
}
