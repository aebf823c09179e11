package main

import (
	"fmt"
	"syscall"
	"time"

	scheduling "k8s.io/api/scheduling/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"a-gang-of-higher-priority-has-others-end",
			"a high-priority gang makes room for all of it, keeps it, and starts whole", gangPreempts},
		check{"a-leader-killed-while-a-gang-has-others-end-leaves-it-whole",
			"leader killed between evictions for a gang: no more are evicted than it needs, it starts whole",
			withPair(killedWhileGangPreempts)},
	)
}

const upper = 4 // members of the gang

// upperGang are pods of higher priority than all others, that start together; they want a queue.
func (w *world) upperGang(queue string) (func(), error) {
	class := w.space + "-upper"
	classes := w.client.SchedulingV1().PriorityClasses()
	_, err := classes.Create(w.ctx, &scheduling.PriorityClass{
		ObjectMeta: meta.ObjectMeta{Name: class}, Value: 1000}, meta.CreateOptions{})
	for at := 0; err == nil && at < upper; at++ {
		made := annotated(member(fmt.Sprintf("g%d", at), "g", upper), queueKey, queue)
		made.Spec.PriorityClassName = class
		_, err = w.create(made)
	}
	return func() { _ = classes.Delete(w.ctx, class, meta.DeleteOptions{}) }, err
}

func gangPreempts(w *world) error {
	a := &arena{world: w}
	if err := w.fill(0); err != nil {
		return err
	}
	name := "upper-" + w.space
	away, err := w.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	began := time.Now()
	forget, err := w.upperGang(name)
	defer forget()
	if err != nil {
		return err
	}
	names, err := a.some(upper)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := w.waitsFor(name, upper, "end for it: of lower priority"); err != nil {
		return err
	}
	if err := a.told(names[0], "Preempted", "its priority is 1000"); err != nil {
		return err
	}
	// Made anew, as a controller would, without a gate.
	if _, err := w.create(whole("fill-again")); err != nil {
		return err
	}
	for _, name := range names[1:] {
		if err := w.remove(name); err != nil {
			return err
		}
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, prefix := range []string{"g", "fill-again"} {
			if err := a.unbound(prefix); err != nil {
				return err
			}
		}
	}
	if err := w.remove(names[0]); err != nil {
		return err
	}
	if err := w.comesTo("g", upper, 0); err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d evicted %.1f s after the first of %d members was made", upper,
		took.Seconds(), upper)
	if err := a.noneEnds(2 * time.Second); err != nil {
		return err
	}
	return w.noneTwice()
}

func killedWhileGangPreempts(p *pair) error {
	a := &arena{world: p.world}
	if err := p.fill(0); err != nil {
		return err
	}
	name := "upper-" + p.space
	away, err := p.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	p.gate.holdAfterOne("/eviction", isEviction)
	forget, err := p.upperGang(name)
	defer forget()
	if err != nil {
		return err
	}
	err = p.until("one is evicted and the next is on its way", func() error { return p.gate.holds(1) })
	if err != nil {
		return err
	}
	p.signal(p.a, syscall.SIGKILL)
	names, err := a.some(upper)
	if err != nil {
		return err
	}
	for _, one := range names {
		if err := p.remove(one); err != nil {
			return err
		}
	}
	if err := p.comesTo("g", upper, 0); err != nil {
		return err
	}
	if err := a.noneEnds(2 * time.Second); err != nil {
		return err
	}
	return p.noneTwice()
}
