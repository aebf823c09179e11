package main

import (
	"errors"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-oversubscription",
			"two pods of 65 % and of 100 % of a card on nodes with 1.3x and 2x overcommit finish with correct " +
				"checksums; without Divvy, and where memory is promised once, the second has no room",
			oversubscribed})
}

// Cards whose link is slow and whose memory is small: all of it is filled and swapped at once.
const (
	swapCards   = "sim-swapx2"
	swapCardMiB = 512
	swapBlock   = 4 << 20
)

// Turns that are as short as a check is.
var swapTurns = []string{"--swap-chunk", "4Mi", "--swap-quantum", "300ms"}

// onCards is the node with these cards, and an agent with these options, and then as it was. Pods
// that `run` made are gone by then.
func (w *world) onCards(cards string, options []string, run func(uuids []string) error) (err error) {
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	before, units, err := w.cardsNow()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, w.emptied(), w.agentBegins(record.Build), w.settle(before, units))
	}()
	if err := w.agentBeginsOn(cards, record.Build, options...); err != nil {
		return err
	}
	var uuids []string
	err = w.until("the node has "+cards, func() error {
		if uuids, _, err = w.cardsNow(); err == nil && uuids[0] == before[0] {
			err = fmt.Errorf("it has %v", uuids)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.settle(uuids, units/int64(len(before))*int64(len(uuids))); err != nil {
		return err
	}
	return run(uuids)
}

// nodeAndCards: what the node was made of, and its cards; a skip where there is none.
func (w *world) nodeAndCards() (nodeRecord, []string, error) {
	if err := w.onKubelet(); err != nil {
		return nodeRecord{}, nil, err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return nodeRecord{}, nil, err
	}
	uuids, _, err := w.cardsNow()
	return record, uuids, err
}

// cardsNow is the cards that are registered and well, and how many units the kubelet has of them: what it counts is in
// the node up to 10 s later, and may be another plugin's until then.
func (w *world) cardsNow() ([]string, int64, error) {
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, 0, err
	}
	devices, err := registered(node)
	if err != nil {
		return nil, 0, err
	}
	var uuids []string
	units := int64(0)
	for _, one := range healthy(devices) {
		uuids = append(uuids, one.ID)
		units += one.Count
	}
	if len(uuids) == 0 {
		return nil, 0, errors.New("no card is well")
	}
	return uuids, units, nil
}

// emptied takes the pods of the check away, and waits until they are.
func (w *world) emptied() error {
	pods, none := w.client.CoreV1().Pods(w.space), int64(0)
	err := pods.DeleteCollection(w.ctx, meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err != nil {
		return err
	}
	err = w.until("its pods are gone", func() error {
		left, err := pods.List(w.ctx, meta.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("there is %s", left.Items[0].Name)
		}
		return err
	})
	return errors.Join(err, w.cardsEmpty())
}

// shareOf is a pod with so much of that card.
func shareOf(name, uuid string, mebibytes int) *core.Pod {
	p := probe(name, one(fmt.Sprint(mebibytes), "10"))
	p.Annotations = map[string]string{"use.divvy.dev/uuid": uuid}
	return p
}

// filledWith: so many blocks of it have a pattern in them.
func (w *world) filledWith(p *core.Pod, blocks int) (*hand, error) {
	h, err := w.hand(p, "swapper")
	if err != nil {
		return nil, err
	}
	if err := h.must("open"); err != nil {
		return nil, err
	}
	return h, h.must("fill", blocks, swapBlock)
}

// swapsOf is how often the pod's memory came back to the card.
func (w *world) swapsOf(name string) (int, error) {
	found, err := w.samples("divvy_tenant_swaps_total", name)
	if err != nil || len(found) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d samples of %s", len(found), name))
	}
	var times int
	_, err = fmt.Sscan(found[0][strings.LastIndex(found[0], " ")+1:], &times)
	return times, err
}

// takeTurns: each of them was taken off the card, and came back, so often.
func (w *world) takeTurns(turns int, hands ...*hand) error {
	return w.until("they take turns", func() error {
		for _, h := range hands {
			if times, err := w.swapsOf(h.name); err != nil || times < turns {
				return errors.Join(err, fmt.Errorf("%s came back %d times", h.name, times))
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

func oversubscribed(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	var notes []string
	for _, so := range overcommits {
		err := w.onCards(swapCards, append([]string{"--overcommit", so.times}, swapTurns...),
			func(uuids []string) error {
				rounds, err := w.twoOf(uuids[0], so.percent, so.blocks)
				notes = append(notes, fmt.Sprintf("%sx: %d %% each, %v rounds", so.times, so.percent, rounds))
				return err
			})
		if err != nil {
			return fmt.Errorf("%sx: %w", so.times, err)
		}
	}
	err = w.onCards(swapCards, swapTurns, func(uuids []string) error {
		for _, so := range overcommits {
			if err := w.withoutRoom(uuids[0], record.Build, so.percent, so.blocks); err != nil {
				return fmt.Errorf("control, %d %%: %w", so.percent, err)
			}
		}
		return nil
	})
	w.note = strings.Join(notes, "; ")
	return err
}

// twoOf: both work on all that they have, by turns, and nothing of it is wrong.
func (w *world) twoOf(uuid string, percent, blocks int) (rounds []int, err error) {
	var hands []*hand
	for _, name := range []string{"one", "two"} {
		h, err := w.filledWith(shareOf(fmt.Sprintf("%s-%d", name, percent), uuid, swapCardMiB*percent/100), blocks)
		if err != nil {
			return nil, err
		}
		hands = append(hands, h)
	}
	for _, h := range hands {
		if err := h.must("work", 5000); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.takeTurns(2, hands...), w.goesOn(hands[0], 1), w.goesOn(hands[1], 1)); err != nil {
		return nil, err
	}
	for _, h := range hands {
		times, err := h.rest()
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, times)
	}
	for at, h := range hands {
		if err := errors.Join(h.intact(), w.stillWorks(h.name), h.end(w)); err != nil {
			return nil, err
		}
		if rounds[at] == 0 {
			return nil, fmt.Errorf("%s did nothing", h.name)
		}
	}
	return rounds, nil
}

// withoutRoom: the same two where nothing is swapped. Without Divvy the card refuses the second one
// its memory; where Divvy promises all memory once, the second one waits for a card.
func (w *world) withoutRoom(uuid, build string, percent, blocks int) error {
	first, err := w.filledWith(w.bareOn(swapCards, fmt.Sprintf("bare-one-%d", percent), build), blocks)
	if err != nil {
		return err
	}
	second, err := w.hand(w.bareOn(swapCards, fmt.Sprintf("bare-two-%d", percent), build), "swapper")
	if err == nil {
		err = second.must("open")
	}
	if err != nil {
		return err
	}
	if code, err := second.code("fill", blocks, swapBlock); err != nil || code != outOfMemory {
		return errors.Join(err, fmt.Errorf("bare: the second one is told %d", code))
	}
	if err := errors.Join(first.end(w), second.end(w)); err != nil {
		return err
	}
	mebibytes := swapCardMiB * percent / 100
	holder, err := w.filledWith(shareOf(fmt.Sprintf("holds-%d", percent), uuid, mebibytes), blocks)
	if err != nil {
		return err
	}
	waits := fmt.Sprintf("waits-%d", percent)
	if _, err := w.create(shareOf(waits, uuid, mebibytes)); err != nil {
		return err
	}
	if _, err := w.refused(waits); err != nil {
		return err
	}
	// Who is deleted at once is gone for the API server before its process is, and has its bytes still.
	return errors.Join(holder.end(w), w.emptied())
}
