package main

import (
	"fmt"
	"syscall"
	"time"
)

func init() {
	checks = append(checks,
		check{"a-queue-takes-back-what-it-is-guaranteed",
			"reclaim: who borrowed ends by the Eviction API, no more of them than is owed, and what they " +
				"leave is nobody else's", queueReclaims},
		check{"a-queue-that-does-not-take-back-waits", "reclaim: never", queueWaits},
		check{"a-leader-killed-between-reclaims-leaves-no-more-to-end",
			"leader killed between evictions for a queue: nobody is evicted twice for the same need",
			withPair(killedBetweenReclaims)},
	)
}

const reclaimed = 2

// lend makes two queues: all cards are lent to `theirs`, two of them are guaranteed to `ours`.
func (w *world) lend(reclaim string) (ours, theirs string, away func(), err error) {
	const all = checkNodes * checkDevices
	ours, theirs = "owner-"+w.space, "borrower-"+w.space
	first, err := w.queue(ours, queueSpec{Guarantee: cards(reclaimed), Reclaim: reclaim})
	if err != nil {
		return ours, theirs, first, err
	}
	second, err := w.queue(theirs, queueSpec{Guarantee: cards(all - reclaimed)})
	away = func() { first(); second() }
	for at := 0; err == nil && at < all; at++ {
		_, err = w.create(annotated(whole(fmt.Sprintf("b%d", at)), queueKey, theirs))
	}
	if err == nil {
		err = w.comesTo("b", all, 0)
	}
	return ours, theirs, away, err
}

// owed are pods of the queue, by these names.
func (w *world) owed(queue string, names ...string) error {
	for _, name := range names {
		if _, err := w.create(annotated(whole(name), queueKey, queue)); err != nil {
			return err
		}
	}
	return nil
}

// some end: so many.
func (a *arena) some(count int) (names []string, err error) {
	err = a.until(fmt.Sprintf("%d end", count), func() error {
		names, err = a.ending()
		if err == nil && len(names) != count {
			err = fmt.Errorf("%v do", names)
		}
		return err
	})
	return names, err
}

func queueReclaims(w *world) error {
	a := &arena{world: w}
	ours, theirs, away, err := w.lend("")
	defer away()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.owed(ours, "o1", "o2", "o3"); err != nil {
		return err
	}
	names, err := a.some(reclaimed)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := w.waitsFor(ours, 3, "takes back what others borrowed"); err != nil {
		return err
	}
	if err := a.told(names[0], "Reclaimed", ours); err != nil {
		return err
	}
	// Made anew, as a controller would.
	if err := w.owed(theirs, "b-again"); err != nil {
		return err
	}
	if err := w.remove(names[0]); err != nil {
		return err
	}
	if err := w.comesTo("o", 1, 2); err != nil {
		return err
	}
	if err := w.remove(names[1]); err != nil {
		return err
	}
	if err := w.comesTo("o", 2, 1); err != nil {
		return err
	}
	// More is not guaranteed.
	if err := a.noneEnds(3 * time.Second); err != nil {
		return err
	}
	if err := a.unbound("b-again"); err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d of %d evicted %.1f s after the first pod of the queue was made", reclaimed,
		checkNodes*checkDevices, took.Seconds())
	return w.noneTwice()
}

func queueWaits(w *world) error {
	a := &arena{world: w}
	ours, _, away, err := w.lend("never")
	defer away()
	if err != nil {
		return err
	}
	if err := w.owed(ours, "o1"); err != nil {
		return err
	}
	if err := w.waitsFor(ours, 1, "no room"); err != nil {
		return err
	}
	return a.noneEnds(3 * time.Second)
}

func killedBetweenReclaims(p *pair) error {
	a := &arena{world: p.world}
	ours, _, away, err := p.lend("")
	defer away()
	if err != nil {
		return err
	}
	p.gate.holdAfterOne("/eviction", isEviction)
	if err := p.owed(ours, "o1", "o2"); err != nil {
		return err
	}
	err = p.until("one is evicted and the next is on its way", func() error { return p.gate.holds(1) })
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
	names, err := a.some(reclaimed)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.remove(name); err != nil {
			return err
		}
	}
	if err := p.comesTo("o", 2, 0); err != nil {
		return err
	}
	if err := a.noneEnds(2 * time.Second); err != nil {
		return err
	}
	return p.noneTwice()
}
