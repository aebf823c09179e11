package memory

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestIdleClasses(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-idle-pod-is-swapped-out-before-it-is-told",
			Requirement: "idle pods by their class: a low one is swapped out, is told of its end when it has been, and is evicted, or " +
				"works again with every word right and is told that it stays; a normal one is swapped out, and never told; " +
				"to a high one, idle for as long on the same card, nothing happens",
			Run: idleByClass})
}

// What each pod has on the card that they share, and all of it fits there.
const idleBlocks, idleMiB = 10, 80

var idleTerms = append([]string{"--overcommit", "1.3", "--idle-reclaim", "high=off,normal=2s,low=2s",
	"--idle-stop", "low=8s"}, harness.SwapTurns...)

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
func swappedOut(env *harness.Env, name string) (uint64, error) {
	found, err := env.Metrics("divvy_tenant_memory_swapped_bytes", name)
	if err != nil || len(found) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d samples of %s", len(found), name))
	}
	var bytes float64
	_, err = fmt.Sscan(found[0][strings.LastIndex(found[0], " ")+1:], &bytes)
	return uint64(bytes), err
}

func idleByClass(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	out := &whatWasOut{bytes: map[string]uint64{}}
	told := &harness.Platform{Extend: 1, Seen: func(pod, kind string) {
		bytes, err := swappedOut(env, pod)
		out.Lock()
		defer out.Unlock()
		if _, known := out.bytes[pod+" "+kind]; !known && err == nil {
			out.bytes[pod+" "+kind] = bytes
		}
	}}
	// Long enough for who is to work again before that is over.
	return env.WithPlatform(told, "20s", func() error {
		return env.WithDevices(harness.SwapCards, idleTerms, func(uuids []string) error {
			recorder, err := env.RecordConditions()
			if err != nil {
				return err
			}
			defer recorder.Stop()
			return idleOn(env, uuids[0], told, out, recorder)
		})
	})
}

// idleOn: all are filled, and then do nothing.
func idleOn(env *harness.Env, uuid string, told *harness.Platform, out *whatWasOut,
	recorder *harness.ConditionRecorder) error {
	workers := map[string]*harness.Worker{}
	for _, one := range [][2]string{{"serves", "high"}, {"rests", "normal"}, {"wakes", "low"}, {"sleeps", "low"}} {
		h, err := filledWith(env, withPriority(harness.ShareOf(one[0], uuid, idleMiB), one[1]), idleBlocks)
		if err != nil {
			return err
		}
		workers[one[0]] = h
	}
	if err := wokenAfterNotice(env, workers["wakes"], told, out, recorder); err != nil {
		return err
	}
	if err := evictedAfterNotice(env, "sleeps", told, out, recorder); err != nil {
		return err
	}
	if _, err := workers["wakes"].Stop(); err != nil {
		return err
	}
	// The control: the other classes were idle for longer.
	for name, wanted := range map[string]uint64{"serves": 0, "rests": idleBlocks * harness.SwapBlock} {
		if bytes, err := swappedOut(env, name); err != nil || bytes != wanted {
			return errors.Join(err, fmt.Errorf("of %s %d bytes are with the host, not %d", name, bytes, wanted))
		}
		if notices := told.Of(name); len(notices) > 0 {
			return fmt.Errorf("of %s its platform heard %v", name, notices)
		}
		if condition, err := idleCondition(env, name); err == nil {
			return fmt.Errorf("%s has %+v", name, condition)
		}
	}
	for _, name := range []string{"serves", "rests", "wakes"} {
		if err := errors.Join(env.StillRunning(name), workers[name].VerifyMemory()); err != nil {
			return err
		}
	}
	if times, err := swapsOf(env, "serves"); err != nil || times != 0 {
		return errors.Join(err, fmt.Errorf("the high one came back %d times", times))
	}
	return nil
}

// noticed: it has had the condition, and all of it was with the host before its platform was told.
func noticed(env *harness.Env, name string, out *whatWasOut, recorder *harness.ConditionRecorder) error {
	if err := recorder.WaitCondition(env, name, "divvy.dev/Idle", "it is evicted at "); err != nil {
		return err
	}
	return env.WaitFor("its platform is told", func() error {
		if bytes := out.of(name, "idle-notice"); bytes != idleBlocks*harness.SwapBlock {
			return fmt.Errorf("of %s %d bytes were with the host then", name, bytes)
		}
		return nil
	})
}

func wokenAfterNotice(env *harness.Env, h *harness.Worker, told *harness.Platform, out *whatWasOut,
	recorder *harness.ConditionRecorder) error {
	if err := noticed(env, h.Name, out, recorder); err != nil {
		return err
	}
	if err := errors.Join(h.Must("work", 5000), goesOn(env, h, 2)); err != nil {
		return err
	}
	err := env.WaitFor("it is called off", func() error {
		condition, err := idleCondition(env, h.Name)
		if notices := strings.Join(told.Of(h.Name), " "); err == nil &&
			(condition.Status != core.ConditionFalse || notices != "idle-notice idle-called-off") {
			err = fmt.Errorf("%+v, and its platform heard: %s", condition, notices)
		}
		return err
	})
	if err != nil {
		return err
	}
	if times, err := swapsOf(env, h.Name); err != nil || times == 0 {
		return errors.Join(err, fmt.Errorf("%s came back %d times", h.Name, times))
	}
	return nil
}

func evictedAfterNotice(env *harness.Env, name string, told *harness.Platform, out *whatWasOut,
	recorder *harness.ConditionRecorder) error {
	if err := noticed(env, name, out, recorder); err != nil {
		return err
	}
	err := env.WaitFor("it is evicted", func() error {
		if p, err := env.Get(name); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.Of(name))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bytes := out.of(name, "idle-due"); bytes != idleBlocks*harness.SwapBlock {
		return fmt.Errorf("when it was due %d bytes of it were with the host", bytes)
	}
	env.Note = fmt.Sprintf("its platform heard %v", told.Of(name))
	return env.WaitEvents(name, "Idle", "EvictedIdle")
}
