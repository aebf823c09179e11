package harness

import (
	"errors"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
)

// What is launched is of this length, and so many seconds of it are counted.
const (
	KernelMicros  = 2000
	MeasureWindow = 6 * time.Second
)

// ComputeShare is what the first one got of all that both did in a window in which both compute. A window at whose
// ends one
// of them computed alone for long, as the machine stood still between two words, is none.
func (env *Env) ComputeShare(workers [2]*Worker) (part float64, err error) {
	const alone, tries = MeasureWindow / 60, 5
	for range tries {
		apart := time.Duration(0)
		if part, apart, err = env.partOfWindow(workers); err != nil || apart <= alone {
			return part, err
		}
	}
	return 0, fmt.Errorf("in none of %d windows both of them computed, from its beginning to its end", tries)
}

// ComputeShareWithin is the first such part of so few windows that is within these bounds: where the machine stood
// still for one
// of them in the midst of a window it says little, and what holds does so in the next one.
func (env *Env) ComputeShareWithin(workers [2]*Worker, least, most float64) (float64, error) {
	const tries = 3
	var seen []string
	for range tries {
		part, err := env.ComputeShare(workers)
		if err != nil || (part >= least && part <= most) {
			return part, err
		}
		seen = append(seen, fmt.Sprintf("%.1f %%", 100*part))
	}
	return 0, fmt.Errorf("%s of what both compute, and never %.0f to %.0f %%", strings.Join(seen, ", "), 100*least,
		100*most)
}

// partOfWindow is that of one, and for how long at most one of them may have computed alone.
func (env *Env) partOfWindow(workers [2]*Worker) (float64, time.Duration, error) {
	part, ends := 0.0, [4]time.Time{time.Now()}
	for _, h := range workers {
		if err := h.Must("run", KernelMicros); err != nil {
			return 0, 0, err
		}
	}
	ends[1] = time.Now()
	select {
	case <-env.Ctx.Done():
		return 0, 0, env.Ctx.Err()
	case <-time.After(MeasureWindow):
	}
	ends[2] = time.Now()
	for _, h := range workers {
		if err := h.Send("rest"); err != nil {
			return 0, 0, err
		}
	}
	ends[3] = time.Now()
	part, err := partDone(workers)
	return part, ends[1].Sub(ends[0]) + ends[3].Sub(ends[2]), err
}

// partDone: both have been told to rest, and say what they did.
func partDone(workers [2]*Worker) (float64, error) {
	var done [2]int
	for at, h := range workers {
		said, err := h.receive()
		if err != nil {
			return 0, err
		}
		if said[0] != "0" {
			return 0, fmt.Errorf("%s: rest: %v", h.Name, said)
		}
		if _, err := fmt.Sscan(said[1], &done[at]); err != nil {
			return 0, err
		}
	}
	if done[0]+done[1] == 0 {
		return 0, errors.New("neither did anything")
	}
	return float64(done[0]) / float64(done[0]+done[1]), nil
}

// Of a card that it has to itself: not throttled, and throttled to 1 %.
const (
	UnthrottledShare = 0.7
	ThrottledShare   = 0.03
	cheatingPlace    = "beside"
)

// StartHalfManagedPod is a pod of two containers on that card: one works through Divvy, the other one has the
// driver's own
// files, mounted by hand. Both are its workers.
func (env *Env) StartHalfManagedPod(card, build string) ([]*Worker, error) {
	p := ShareOf("two-faced", card, 3000)
	cheat := env.UnmanagedPod("none", build)
	cheat.Spec.Containers[0].Name = cheatingPlace
	p.Spec.Volumes = cheat.Spec.Volumes
	p.Spec.Containers = append(p.Spec.Containers, cheat.Spec.Containers[0])
	return env.StartWorkers(p, "busy")
}

// timeOf is what part of the card's time it gets, for so long, by launching one kernel after the other.
func (env *Env) timeOf(h *Worker, long time.Duration) (float64, error) {
	begun := time.Now()
	if err := h.Must("run", KernelMicros); err != nil {
		return 0, err
	}
	select {
	case <-env.Ctx.Done():
		return 0, env.Ctx.Err()
	case <-time.After(long):
	}
	launches, err := h.Stop()
	passed := time.Since(begun)
	return float64(launches) * KernelMicros / float64(passed.Microseconds()), err
}

// ComputesWithin: it gets no less and no more than these parts.
func (env *Env) ComputesWithin(h *Worker, when string, least, most float64) error {
	return env.ComputesWithinFor(MeasureWindow, h, when, least, most)
}

// A window in which the machine stood still for a while says little of it: what holds does so in the next one.
func (env *Env) ComputesWithinFor(long time.Duration, h *Worker, when string, least, most float64) error {
	const tries = 3
	var parts []string
	for range tries {
		part, err := env.timeOf(h, long)
		if err != nil {
			return err
		}
		parts = append(parts, fmt.Sprintf("%.1f %%", 100*part))
		if part >= least && part <= most {
			env.Note += fmt.Sprintf("%s %s; ", when, strings.Join(parts, ", "))
			return nil
		}
	}
	return fmt.Errorf("%s it has %s of the card", when, strings.Join(parts, ", "))
}

// WaitBypassReported: the pod by its condition, the node by name and UID of the pod, Prometheus by the tenant.
func (env *Env) WaitBypassReported() error {
	const words = "without Divvy's library"
	if err := env.WaitBypassCondition("two-faced", words); err != nil {
		return err
	}
	p, err := env.Get("two-faced")
	if err != nil {
		return err
	}
	err = env.WaitFor("its node says so", func() error {
		text, _, err := env.NodeAnnotation("divvy.dev/bypass")
		for _, word := range []string{string(p.UID), env.Namespace, "two-faced", words} {
			if err == nil && !strings.Contains(text, word) {
				err = fmt.Errorf("it says %q", text)
			}
		}
		return err
	})
	return errors.Join(err, env.WaitMetric("divvy_tenant_bypass", "two-faced", "} 1"))
}

// WaitBypassOver waits until the pod's condition says that it does not go around its limit any more.
func (env *Env) WaitBypassOver(pod string) error {
	return env.WaitFor("the pod is told that it is over", func() error {
		condition, err := env.BypassCondition(pod)
		if err == nil && condition.Status != core.ConditionFalse {
			err = fmt.Errorf("its condition is %+v", condition)
		}
		return err
	})
}
