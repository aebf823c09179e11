package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	gangKey    = "use.divvy.dev/gang"
	gangMinKey = "use.divvy.dev/gang-min"
)

func init() {
	checks = append(checks,
		check{"a-gang-starts-whole-or-not-at-all",
			"a gang of 4 starts whole or not at all; too few members wait with a reason", gangOfFour},
		check{"a-gang-is-recognised-in-others'-words",
			"gangs of scheduler-plugins, Kueue and Jobs that say so", gangWords},
		check{"a-gang-short-of-processors-waits-whole",
			"a gang without processors for all of it: no gate is taken away; it is spread where that helps",
			gangProcessors},
		check{"kills-between-gates-leave-no-gang-in-part",
			"controller SIGKILLed between any two gate removals: the gang starts whole or not at all",
			withPair(killedBetweenGates)},
	)
}

func member(name, gang string, least int) *core.Pod {
	return annotated(whole(name), gangKey, gang, gangMinKey, fmt.Sprint(least))
}

// fill leaves so many cards free.
func (w *world) fill(free int) error {
	for at := 0; at < checkNodes*checkDevices-free; at++ {
		if _, err := w.create(whole(fmt.Sprintf("fill-%d", at))); err != nil {
			return err
		}
	}
	return w.comesTo("fill-", checkNodes*checkDevices-free, 0)
}

func gangOfFour(w *world) error {
	if err := w.fill(3); err != nil {
		return err
	}
	name := "gangs-" + w.space
	away, err := w.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	for at := 0; at < 3; at++ {
		made := annotated(member(fmt.Sprintf("g%d", at), "g", 4), queueKey, name)
		if _, err := w.create(made); err != nil {
			return err
		}
	}
	if err := w.waitsFor(name, 3, "3 of 4 members of the gang are there"); err != nil {
		return err
	}
	if _, err := w.create(annotated(member("g3", "g", 4), queueKey, name)); err != nil {
		return err
	}
	if err := w.waitsFor(name, 4, "3 of 4 members fit"); err != nil {
		return err
	}
	if bound, waiting, err := w.counts("g"); err != nil || bound != 0 || waiting != 4 {
		return fmt.Errorf("%d are bound, %d wait: %v", bound, waiting, err)
	}
	if err := w.remove("fill-0"); err != nil {
		return err
	}
	began := time.Now()
	if err := w.comesTo("g", 4, 0); err != nil {
		return err
	}
	w.note = fmt.Sprintf("all four bound %.0f ms after the room came",
		float64(time.Since(began).Microseconds())/1000)
	return w.noneTwice()
}

// Of so many processors one fits a node.
func gangProcessors(w *world) error {
	name := "wide-" + w.space
	away, err := w.queue(name, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	for _, gang := range []string{"g", "h"} {
		members := checkNodes
		if gang == "g" {
			members++
		}
		for at := 0; at < members; at++ {
			made := annotated(pod(fmt.Sprintf("%s%d", gang, at),
				container("c", asks{"nvidia.com/gpu": "1", "cpu": "100"})), gangKey, gang, gangMinKey,
				fmt.Sprint(members), queueKey, name)
			if _, err := w.create(made); err != nil {
				return err
			}
		}
		if gang == "h" {
			if err := w.comesTo("h", members, 0); err != nil {
				return err
			}
			continue
		}
		if err := w.waitsFor(name, members, "find no processors or memory"); err != nil {
			return err
		}
		if err := w.comesTo("g", 0, members); err != nil {
			return err
		}
	}
	return w.noneTwice()
}

// noneTwice: whole cards are nobody else's.
func (w *world) noneTwice() error {
	count, _, err := w.bookings()
	for device, pods := range count {
		if pods > 1 {
			err = fmt.Errorf("%d pods are on %s", pods, device)
		}
	}
	return err
}

func gangWords(w *world) error {
	words := map[string]func(p *core.Pod){
		"kueue": func(p *core.Pod) {
			p.Labels = map[string]string{"kueue.x-k8s.io/pod-group-name": "k"}
			annotated(p, "kueue.x-k8s.io/pod-group-total-count", "2")
		},
		"plugins": func(p *core.Pod) {
			p.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "s"}
			annotated(p, gangMinKey, "2")
		},
		"job": func(p *core.Pod) {
			p.Labels = map[string]string{"batch.kubernetes.io/job-name": "j"}
			annotated(p, gangMinKey, "2")
		},
	}
	for name, say := range words {
		first, second := whole(name+"-1"), whole(name+"-2")
		say(first)
		say(second)
		made, err := w.create(first)
		if err == nil && !gated(made) {
			err = fmt.Errorf("%s: it has no gate", name)
		}
		if err != nil {
			return err
		}
		if _, err := w.create(second); err != nil {
			return err
		}
		if err := w.comesTo(name, 2, 0); err != nil {
			return err
		}
	}
	_, err := w.create(annotated(whole("wrong"), gangKey, "g", gangMinKey, "none"))
	if err == nil || !strings.Contains(err.Error(), gangMinKey) {
		return fmt.Errorf("a gang of \"none\": %v", err)
	}
	return nil
}

// killedBetweenGates kills the leader's extender when so many gates of a gang are gone: the other
// calls are held up, and arrive when its successor has long begun.
func killedBetweenGates(p *pair) error {
	const members = 4
	if err := p.fill(members); err != nil {
		return err
	}
	queue := "killed-" + p.space
	away, err := p.queue(queue, queueSpec{})
	if err != nil {
		return err
	}
	defer away()
	found, err := p.ports(p.a)
	if err != nil {
		return err
	}
	p.a.listen = strings.TrimPrefix(local("http", found.Extender), "http://")
	for gone := 1; gone < members; gone++ {
		if err := p.killAfter(gone, members, queue); err != nil {
			return fmt.Errorf("killed after %d gates: %w", gone, err)
		}
	}
	p.note = fmt.Sprintf("killed after 1, 2 and 3 of %d gates; while no node was to be had nobody was "+
		"bound", members)
	return nil
}

func (p *pair) killAfter(gone, members int, queue string) error {
	prefix := fmt.Sprintf("g%d-", gone)
	opened := 0
	p.gate.mutex.Lock()
	p.gate.which = func(r *http.Request) bool {
		// What is said of a pod, in its status, takes no gate away.
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/pods/"+prefix) ||
			strings.HasSuffix(r.URL.Path, "/status") {
			return false
		}
		opened++
		return opened > gone
	}
	p.gate.mutex.Unlock()
	p.gate.hold()
	for at := 0; at < members; at++ {
		made := annotated(member(fmt.Sprintf("%s%d", prefix, at), prefix+"gang", members), queueKey, queue)
		if _, err := p.create(made); err != nil {
			return err
		}
	}
	err := p.until("the others' gates are held up", func() error { return p.gate.holds(members - gone) })
	if err == nil {
		err = p.comesTo(prefix, 0, members-gone)
	}
	if err == nil {
		err = p.kill(p.a.extender())
	}
	if err != nil {
		return err
	}
	late := p.gate.leave()
	arrive := sync.OnceFunc(func() { close(late) })
	defer arrive()
	// Once the successor finds no room for what was promised: all of it is given back.
	if gone == 2 {
		if err := p.cordon(true); err != nil {
			return err
		}
	}
	if err := p.startExtender(p.a); err != nil {
		return err
	}
	if gone == 2 {
		if err := p.waitsFor(queue, members, "members fit at most"); err != nil {
			return err
		}
		if err := p.comesTo(prefix, 0, members-gone); err != nil {
			return err
		}
		if err := p.cordon(false); err != nil {
			return err
		}
	}
	if err := p.comesTo(prefix, members, 0); err != nil {
		return err
	}
	arrive()
	if err := p.noneTwice(); err != nil {
		return err
	}
	for at := 0; at < members; at++ {
		if err := p.remove(fmt.Sprintf("%s%d", prefix, at)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) cordon(closed bool) error {
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	patch := []byte(fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, closed))
	for at := range nodes.Items {
		_, err := w.client.CoreV1().Nodes().Patch(w.ctx, nodes.Items[at].Name, types.MergePatchType,
			patch, meta.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
