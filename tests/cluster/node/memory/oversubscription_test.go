package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestOversubscription(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-oversubscription",
			Requirement: "two pods of 65 % and of 100 % of a card on nodes with 1.3x and 2x overcommit finish with correct " +
				"checksums; without Divvy, and where memory is promised once, the second has no room",
			Run: oversubscribed})
}

// filledWith: so many blocks of it have a pattern in them.
func filledWith(env *harness.Env, p *core.Pod, blocks int) (*harness.Worker, error) {
	h, err := env.StartWorker(p, "swapper")
	if err != nil {
		return nil, err
	}
	if err := h.Must("open"); err != nil {
		return nil, err
	}
	return h, h.Must("fill", blocks, harness.SwapBlock)
}

// swapsOf is how often the pod's memory came back to the card.
func swapsOf(env *harness.Env, name string) (int, error) {
	found, err := env.Metrics("divvy_tenant_swaps_total", name)
	if err != nil || len(found) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d samples of %s", len(found), name))
	}
	var times int
	_, err = fmt.Sscan(found[0][strings.LastIndex(found[0], " ")+1:], &times)
	return times, err
}

// takeTurns: each of them was taken off the card, and came back, so often.
func takeTurns(env *harness.Env, turns int, workers ...*harness.Worker) error {
	return env.WaitFor("they take turns", func() error {
		for _, h := range workers {
			if times, err := swapsOf(env, h.Name); err != nil || times < turns {
				return errors.Join(err, fmt.Errorf("%s came back %d times", h.Name, times))
			}
		}
		return nil
	})
}

// The most that fits on a card beside two contexts of 8 MiB, and what its driver keeps.
const swapMostBlocks = 122

var overcommits = []struct {
	times   string
	percent int
	blocks  int // less than the share by a context, and no more than can ever be there at once
}{{"1.3", 65, 80}, {"2", 100, swapMostBlocks}}

func oversubscribed(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	var notes []string
	for _, so := range overcommits {
		err := env.WithDevices(harness.SwapCards, append([]string{"--overcommit", so.times}, harness.SwapTurns...),
			func(uuids []string) error {
				rounds, err := twoOf(env, uuids[0], so.percent, so.blocks)
				notes = append(notes, fmt.Sprintf("%sx: %d %% each, %v rounds", so.times, so.percent, rounds))
				return err
			})
		if err != nil {
			return fmt.Errorf("%sx: %w", so.times, err)
		}
	}
	err = env.WithDevices(harness.SwapCards, harness.SwapTurns, func(uuids []string) error {
		for _, so := range overcommits {
			if err := withoutRoom(env, uuids[0], record.Build, so.percent, so.blocks); err != nil {
				return fmt.Errorf("control, %d %%: %w", so.percent, err)
			}
		}
		return nil
	})
	env.Note = strings.Join(notes, "; ")
	return err
}

// twoOf: both work on all that they have, by turns, and nothing of it is wrong.
func twoOf(env *harness.Env, uuid string, percent, blocks int) (rounds []int, err error) {
	var workers []*harness.Worker
	for _, name := range []string{"one", "two"} {
		h, err := filledWith(env, harness.ShareOf(fmt.Sprintf("%s-%d", name, percent), uuid,
			harness.SwapCardMiB*percent/100), blocks)
		if err != nil {
			return nil, err
		}
		workers = append(workers, h)
	}
	for _, h := range workers {
		if err := h.Must("work", 5000); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(takeTurns(env, 2, workers...), goesOn(env, workers[0], 1), goesOn(env, workers[1], 1)); err != nil {
		return nil, err
	}
	for _, h := range workers {
		times, err := h.Stop()
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, times)
	}
	for at, h := range workers {
		if err := errors.Join(h.VerifyMemory(), env.StillRunning(h.Name), h.Exit(env)); err != nil {
			return nil, err
		}
		if rounds[at] == 0 {
			return nil, fmt.Errorf("%s did nothing", h.Name)
		}
	}
	return rounds, nil
}

// withoutRoom: the same two where nothing is swapped. Without Divvy the card refuses the second one
// its memory; where Divvy promises all memory once, the second one waits for a card.
func withoutRoom(env *harness.Env, uuid, build string, percent, blocks int) error {
	first, err := filledWith(env, env.UnmanagedPodOn(harness.SwapCards, fmt.Sprintf("bare-one-%d", percent), build),
		blocks)
	if err != nil {
		return err
	}
	second, err := env.StartWorker(env.UnmanagedPodOn(harness.SwapCards, fmt.Sprintf("bare-two-%d", percent), build),
		"swapper")
	if err == nil {
		err = second.Must("open")
	}
	if err != nil {
		return err
	}
	if code, err := second.Code("fill", blocks, harness.SwapBlock); err != nil || code != harness.OutOfMemory {
		return errors.Join(err, fmt.Errorf("bare: the second one is told %d", code))
	}
	if err := errors.Join(first.Exit(env), second.Exit(env)); err != nil {
		return err
	}
	mebibytes := harness.SwapCardMiB * percent / 100
	holder, err := filledWith(env, harness.ShareOf(fmt.Sprintf("holds-%d", percent), uuid, mebibytes), blocks)
	if err != nil {
		return err
	}
	waits := fmt.Sprintf("waits-%d", percent)
	if _, err := env.Create(harness.ShareOf(waits, uuid, mebibytes)); err != nil {
		return err
	}
	if _, err := env.WaitRefused(waits); err != nil {
		return err
	}
	// Who is deleted at once is gone for the API server before its process is, and has its bytes still.
	return errors.Join(holder.Exit(env), env.DeletePods())
}
