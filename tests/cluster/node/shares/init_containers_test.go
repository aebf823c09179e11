package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-init-containers-have-what-is-theirs",
			"init containers with the same units as those behind them, on cards of their own choice: " +
				"each sees its own limit and the card of its assignment; by their units they would not",
			enforcedInOrder})
}

// saidBy is what a container of the pod said that has ended well.
func saidBy(p *core.Pod, name string) (seen, error) {
	statuses := append(append([]core.ContainerStatus{}, p.Status.InitContainerStatuses...),
		p.Status.ContainerStatuses...)
	for _, one := range statuses {
		over := one.State.Terminated
		if one.Name != name {
			continue
		}
		if over == nil {
			return nil, fmt.Errorf("%s: %+v", name, one.State)
		}
		if over.ExitCode != 0 {
			return nil, fmt.Errorf("%s ended with %d: %s", name, over.ExitCode, over.Message)
		}
		return seenIn(over.Message)
	}
	return nil, fmt.Errorf("no container %s has begun", name)
}

// onCard: its assignment names the card that it sees.
func (s seen) onCard(p *core.Pod, place int) error {
	containers := strings.Split(p.Annotations[allocated], ";")
	if place >= len(containers) {
		return fmt.Errorf("the assignment is %q", p.Annotations[allocated])
	}
	uuid, _, _ := strings.Cut(containers[place], ",")
	hash := fnv.New64a()
	hash.Write([]byte(uuid))
	if s["uuid"] != hash.Sum64() {
		return fmt.Errorf("it does not see %s, the card of its assignment", uuid)
	}
	return nil
}

// Limits differ from container to container, and so do, where there are several cards, these.
func enforcedInOrder(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	names := []string{"first", "second", "probe"}
	var pods []*core.Pod
	var all []claim
	for at := range 4 {
		var claims []claim
		for place, name := range names {
			claims = append(claims, claim{fmt.Sprintf("in-order-%d", at), name, place, 1000 + 700*at + 200*place, 1})
		}
		// Others have one unit: the kubelet gives both to nobody else then.
		if at == 0 {
			claims[0].devices = 2
		}
		pods = append(pods, claimed(claims, len(names)-1))
		all = append(all, claims...)
	}
	heard, err := w.testify(pods, all)
	if err == nil {
		err = heard.right()
	}
	if err != nil {
		return err
	}
	history, err := w.beginnings()
	if err != nil {
		return err
	}
	wrong, err := heard.wrongBy(history, heard.byUnits)
	w.note = fmt.Sprintf("%d containers on %d cards; by their units %d would have another's", len(all), heard.cards(),
		wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: all have units of their own: nothing is shown")
	}
	return err
}
