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
				"each sees its own limit and the card of its assignment",
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
	const pods = 4
	mebibytes := func(at, place int) int { return 1000 + 700*at + 200*place }
	names := []string{"first", "second", "probe"}
	err := atOnce(pods, func(at int) error {
		p := probe(fmt.Sprintf("in-order-%d", at), one(fmt.Sprint(mebibytes(at, 2)), "10"))
		for place, name := range names[:2] {
			c := p.Spec.Containers[0]
			c.Name = name
			limits := one(fmt.Sprint(mebibytes(at, place)), "10")
			// Others have one unit: the kubelet gives both to nobody else then.
			if at == 0 && place == 0 {
				limits["nvidia.com/gpu"] = "2"
			}
			c.Resources = container(name, limits).Resources
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		}
		p.Annotations = map[string]string{"use.divvy.dev/device-policy": "spread"}
		_, err := w.create(p)
		return err
	})
	if err != nil {
		return err
	}
	cards := map[string]bool{}
	for at := 0; at < pods; at++ {
		name := fmt.Sprintf("in-order-%d", at)
		var p *core.Pod
		err := w.until(name+" has run", func() (err error) {
			if p, err = w.get(name); err == nil {
				_, err = saidBy(p, "probe")
			}
			return err
		})
		if err != nil {
			return err
		}
		for place, container := range names {
			said, err := saidBy(p, container)
			if err == nil && said["devices"] == 2 && at == 0 && place == 0 {
				said["devices"] = 1
			}
			if err == nil {
				err = said.limited(uint64(mebibytes(at, place)) << 20)
			}
			if err == nil {
				err = said.onCard(p, place)
			}
			if err != nil {
				return fmt.Errorf("%s of %s: %w", container, name, err)
			}
			cards[fmt.Sprint(said["uuid"])] = true
		}
	}
	w.note = fmt.Sprintf("%d containers on %d cards", pods*len(names), len(cards))
	if len(cards) < 2 {
		return errors.New("all are on one card: who has another's would not show")
	}
	return nil
}
