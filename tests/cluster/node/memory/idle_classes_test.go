package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func init() {
	checks = append(checks,
		check{"kubelet-an-idle-pod-is-swapped-out-before-it-is-told",
			"idle pods by their class: a low one is swapped out, is told of its end when it has been, and is evicted, or " +
				"works again with every word right and is told that it stays; a normal one is swapped out, and never told; " +
				"to a high one, idle for as long on the same card, nothing happens",
			idleByClass})
}

// What each pod has on the card that they share, and all of it fits there.
const idleBlocks, idleMiB = 10, 80

var idleTerms = append([]string{"--overcommit", "1.3", "--idle-reclaim", "high=off,normal=2s,low=2s",
	"--idle-stop", "low=8s"}, swapTurns...)

// whatWasOut is how much of a pod was with the host when its platform was told something first.
type whatWasOut struct {
	sync.Mutex
	bytes map[string]uint64
}

func (o *whatWasOut) of(pod, kind string) uint64 {
	o.Lock()
	defer o.Unlock()
	return o.bytes[pod+" "+kind]
}

// swappedOut is how many bytes of a pod are with the host.
func (w *world) swappedOut(name string) (uint64, error) {
	found, err := w.samples("divvy_tenant_memory_swapped_bytes", name)
	if err != nil || len(found) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d samples of %s", len(found), name))
	}
	var bytes float64
	_, err = fmt.Sscan(found[0][strings.LastIndex(found[0], " ")+1:], &bytes)
	return uint64(bytes), err
}

func idleByClass(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	out := &whatWasOut{bytes: map[string]uint64{}}
	told := &platform{extend: 1, seen: func(pod, kind string) {
		bytes, err := w.swappedOut(pod)
		out.Lock()
		defer out.Unlock()
		if _, known := out.bytes[pod+" "+kind]; !known && err == nil {
			out.bytes[pod+" "+kind] = bytes
		}
	}}
	// Long enough for who is to work again before that is over.
	return w.withPlatform(told, "20s", func() error {
		return w.onCards(swapCards, idleTerms, func(uuids []string) error {
			heard, err := w.listens()
			if err != nil {
				return err
			}
			defer heard.end()
			return w.idleOn(uuids[0], told, out, heard)
		})
	})
}

// idleOn: all are filled, and then do nothing.
func (w *world) idleOn(uuid string, told *platform, out *whatWasOut, heard *listener) error {
	hands := map[string]*hand{}
	for _, one := range [][2]string{{"serves", "high"}, {"rests", "normal"}, {"wakes", "low"}, {"sleeps", "low"}} {
		h, err := w.filledWith(withPriority(shareOf(one[0], uuid, idleMiB), one[1]), idleBlocks)
		if err != nil {
			return err
		}
		hands[one[0]] = h
	}
	if err := w.wokenAfterNotice(hands["wakes"], told, out, heard); err != nil {
		return err
	}
	if err := w.evictedAfterNotice("sleeps", told, out, heard); err != nil {
		return err
	}
	if _, err := hands["wakes"].rest(); err != nil {
		return err
	}
	// The control: the other classes were idle for longer.
	for name, wanted := range map[string]uint64{"serves": 0, "rests": idleBlocks * swapBlock} {
		if bytes, err := w.swappedOut(name); err != nil || bytes != wanted {
			return errors.Join(err, fmt.Errorf("of %s %d bytes are with the host, not %d", name, bytes, wanted))
		}
		if heard := told.of(name); len(heard) > 0 {
			return fmt.Errorf("of %s its platform heard %v", name, heard)
		}
		if condition, err := w.idleCondition(name); err == nil {
			return fmt.Errorf("%s has %+v", name, condition)
		}
	}
	for _, name := range []string{"serves", "rests", "wakes"} {
		if err := errors.Join(w.stillWorks(name), hands[name].intact()); err != nil {
			return err
		}
	}
	if times, err := w.swapsOf("serves"); err != nil || times != 0 {
		return errors.Join(err, fmt.Errorf("the high one came back %d times", times))
	}
	return nil
}

// noticed: it has had the condition, and all of it was with the host before its platform was told.
func (w *world) noticed(name string, out *whatWasOut, heard *listener) error {
	if err := heard.told(w, name, "divvy.dev/Idle", "it is evicted at "); err != nil {
		return err
	}
	return w.until("its platform is told", func() error {
		if bytes := out.of(name, "idle-notice"); bytes != idleBlocks*swapBlock {
			return fmt.Errorf("of %s %d bytes were with the host then", name, bytes)
		}
		return nil
	})
}

func (w *world) wokenAfterNotice(h *hand, told *platform, out *whatWasOut, heard *listener) error {
	if err := w.noticed(h.name, out, heard); err != nil {
		return err
	}
	if err := errors.Join(h.must("work", 5000), w.goesOn(h, 2)); err != nil {
		return err
	}
	err := w.until("it is called off", func() error {
		condition, err := w.idleCondition(h.name)
		if heard := strings.Join(told.of(h.name), " "); err == nil &&
			(condition.Status != core.ConditionFalse || heard != "idle-notice idle-called-off") {
			err = fmt.Errorf("%+v, and its platform heard: %s", condition, heard)
		}
		return err
	})
	if err != nil {
		return err
	}
	if times, err := w.swapsOf(h.name); err != nil || times == 0 {
		return errors.Join(err, fmt.Errorf("%s came back %d times", h.name, times))
	}
	return nil
}

func (w *world) evictedAfterNotice(name string, told *platform, out *whatWasOut, heard *listener) error {
	if err := w.noticed(name, out, heard); err != nil {
		return err
	}
	err := w.until("it is evicted", func() error {
		if p, err := w.get(name); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.of(name))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bytes := out.of(name, "idle-due"); bytes != idleBlocks*swapBlock {
		return fmt.Errorf("when it was due %d bytes of it were with the host", bytes)
	}
	w.note = fmt.Sprintf("its platform heard %v", told.of(name))
	return w.saysOf(name, "Idle", "EvictedIdle")
}
