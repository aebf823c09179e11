package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-priority",
			"a high-priority pod takes compute and memory from a sandbox pod, which is not restarted and comes " +
				"back; of equal priority neither does",
			priorityTakes},
		check{"kubelet-shares",
			"shares of 30 and 60 % of a card are 33:67 of it while both compute; without Divvy they are even",
			sharesHold})
}

// What is launched is of this length, and so many seconds of it are counted.
const (
	kernelMicros = 2000
	window       = 6 * time.Second
)

func withPriority(p *core.Pod, priority string) *core.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["use.divvy.dev/priority"] = priority
	return p
}

// partOf is what the first one got of all that both did in a window in which both compute. A window at whose ends one
// of them computed alone for long, as the machine stood still between two words, is none.
func (w *world) partOf(hands [2]*hand) (part float64, err error) {
	const alone, tries = window / 60, 5
	for range tries {
		apart := time.Duration(0)
		if part, apart, err = w.partOfWindow(hands); err != nil || apart <= alone {
			return part, err
		}
	}
	return 0, fmt.Errorf("in none of %d windows both of them computed, from its beginning to its end", tries)
}

// partWithin is the first such part of so few windows that is within these bounds: where the machine stood still for one
// of them in the midst of a window it says little, and what holds does so in the next one.
func (w *world) partWithin(hands [2]*hand, least, most float64) (float64, error) {
	const tries = 3
	var seen []string
	for range tries {
		part, err := w.partOf(hands)
		if err != nil || (part >= least && part <= most) {
			return part, err
		}
		seen = append(seen, fmt.Sprintf("%.1f %%", 100*part))
	}
	return 0, fmt.Errorf("%s of what both compute, and never %.0f to %.0f %%", strings.Join(seen, ", "), 100*least,
		100*most)
}

// partOfWindow is that of one, and for how long at most one of them may have computed alone.
func (w *world) partOfWindow(hands [2]*hand) (float64, time.Duration, error) {
	part, ends := 0.0, [4]time.Time{time.Now()}
	for _, h := range hands {
		if err := h.must("run", kernelMicros); err != nil {
			return 0, 0, err
		}
	}
	ends[1] = time.Now()
	select {
	case <-w.ctx.Done():
		return 0, 0, w.ctx.Err()
	case <-time.After(window):
	}
	ends[2] = time.Now()
	for _, h := range hands {
		if err := h.tell("rest"); err != nil {
			return 0, 0, err
		}
	}
	ends[3] = time.Now()
	part, err := partDone(hands)
	return part, ends[1].Sub(ends[0]) + ends[3].Sub(ends[2]), err
}

// partDone: both have been told to rest, and say what they did.
func partDone(hands [2]*hand) (float64, error) {
	var done [2]int
	for at, h := range hands {
		said, err := h.answer()
		if err != nil {
			return 0, err
		}
		if said[0] != "0" {
			return 0, fmt.Errorf("%s: rest: %v", h.name, said)
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

// computing are two pods that have their contexts, and wait for a word.
func (w *world) computing(pods [2]*core.Pod) (hands [2]*hand, err error) {
	for at, p := range pods {
		if hands[at], err = w.hand(p, "busy"); err != nil {
			return hands, err
		}
		if err = hands[at].must("open", 1); err != nil {
			return hands, err
		}
	}
	return hands, nil
}

func (w *world) ended2(hands [2]*hand) error {
	return errors.Join(hands[0].end(w), hands[1].end(w))
}

func sharesHold(w *world) error {
	record, uuids, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	var pods [2]*core.Pod
	for at, cores := range []string{"30", "60"} {
		pods[at] = probe("cores-"+cores, one("4000", cores))
		pods[at].Annotations = map[string]string{"use.divvy.dev/uuid": uuids[0]}
	}
	shared, err := w.computing(pods)
	if err != nil {
		return err
	}
	const wanted, within = 1.0 / 3, 0.03
	part, err := w.partWithin(shared, wanted-within, wanted+within)
	if err == nil {
		err = w.ended2(shared)
	}
	if err != nil {
		return fmt.Errorf("30:60 is not 33:67: %w", err)
	}
	plain, err := w.computing([2]*core.Pod{w.bare("bare-30", record.Build), w.bare("bare-60", record.Build)})
	if err != nil {
		return err
	}
	even, err := w.partOf(plain)
	if err == nil {
		err = w.ended2(plain)
	}
	w.note = fmt.Sprintf("of %v: %.1f %% and %.1f %%; without Divvy %.1f %%", window, 100*part, 100*(1-part), 100*even)
	if err == nil && math.Abs(even-wanted) <= within {
		err = errors.New("without Divvy it is no different: nothing is shown")
	}
	return err
}

// goesOn: it does so many rounds more.
func (w *world) goesOn(h *hand, rounds int) error {
	before, err := h.number("rounds")
	if err != nil {
		return err
	}
	return w.until(h.name+" goes on", func() error {
		now, err := h.number("rounds")
		if err == nil && now < before+rounds {
			err = fmt.Errorf("%d rounds, %d before", now, before)
		}
		return err
	})
}

// givesWay: it has done nothing while the other one did so many rounds.
func (w *world) givesWay(h, other *hand, rounds int) (bool, error) {
	before, err := h.number("rounds")
	if err == nil {
		err = w.goesOn(other, rounds)
	}
	if err != nil {
		return false, err
	}
	after, err := h.number("rounds")
	return after == before, err
}

// Together more than a card has.
const sandboxBlocks, highBlocks = 70, 90

// both work, the sandbox first.
func (w *world) sandboxAnd(uuid, sandbox, other string) (low, high *hand, err error) {
	low, err = w.filledWith(withPriority(shareOf("sandbox-"+sandbox, uuid, 320), sandbox), sandboxBlocks)
	if err == nil {
		err = errors.Join(low.must("work", 5000), w.goesOn(low, 3))
	}
	if err != nil {
		return nil, nil, err
	}
	high, err = w.filledWith(withPriority(shareOf("service-"+other, uuid, 400), other), highBlocks)
	if err == nil {
		err = errors.Join(high.must("work", 5000), w.goesOn(high, 1))
	}
	return low, high, err
}

func (w *world) memoryYields(uuid string) error {
	low, high, err := w.sandboxAnd(uuid, "low", "high")
	if err != nil {
		return err
	}
	if err := w.shows("divvy_tenant_info", low.name, `memory="waiting"`); err != nil {
		return err
	}
	if quiet, err := w.givesWay(low, high, 5); err != nil || !quiet {
		return errors.Join(err, errors.New("the sandbox goes on beside who is higher"))
	}
	if times, err := w.swapsOf(high.name); err != nil || times != 0 {
		return errors.Join(err, fmt.Errorf("who is higher was swapped %d times", times))
	}
	if _, err := high.rest(); err != nil {
		return err
	}
	if err := errors.Join(high.intact(), high.end(w)); err != nil {
		return err
	}
	if err := w.goesOn(low, 3); err != nil {
		return fmt.Errorf("when who is higher has ended: %w", err)
	}
	if _, err := low.rest(); err != nil {
		return err
	}
	return errors.Join(low.intact(), w.stillWorks(low.name), low.end(w))
}

// equalsTakeTurns is what happens where nobody is higher: both go on.
func (w *world) equalsTakeTurns(uuid string) error {
	one, two, err := w.sandboxAnd(uuid, "normal", "normal")
	if err != nil {
		return err
	}
	if err := errors.Join(w.takeTurns(1, one, two), w.goesOn(one, 3), w.goesOn(two, 3)); err != nil {
		return err
	}
	for _, h := range []*hand{one, two} {
		if _, err := h.rest(); err != nil {
			return err
		}
		if err := errors.Join(h.intact(), h.end(w)); err != nil {
			return err
		}
	}
	return nil
}

func priorityTakes(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	var parts []string
	err := w.onCards(swapCards, append([]string{"--overcommit", "2"}, swapTurns...), func(uuids []string) error {
		if err := w.memoryYields(uuids[0]); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		if err := w.equalsTakeTurns(uuids[0]); err != nil {
			return fmt.Errorf("control, memory: %w", err)
		}
		for _, so := range []struct {
			first string
			least float64
			most  float64
		}{{"high", 0.75, 1}, {"low", 0.3, 0.7}} {
			hands, err := w.computing([2]*core.Pod{
				withPriority(shareOf("first-"+so.first, uuids[1], 100), so.first),
				withPriority(shareOf("beside-"+so.first, uuids[1], 100), "low")})
			if err != nil {
				return err
			}
			part, err := w.partWithin(hands, so.least, so.most)
			if err == nil {
				err = w.ended2(hands)
			}
			if err != nil {
				return fmt.Errorf("%s beside low: %w", so.first, err)
			}
			parts = append(parts, fmt.Sprintf("%s beside low %.1f %%", so.first, 100*part))
		}
		return nil
	})
	w.note = "compute: " + strings.Join(parts, ", ")
	return err
}
