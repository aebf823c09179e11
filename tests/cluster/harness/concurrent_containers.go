package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	core "k8s.io/api/core/v1"
)

// A claim is what one container asks for, and has to see.
type claim struct {
	pod       string
	container string
	place     int // in its pod, init containers first
	mebibytes int
	devices   int
}

// claimed makes a pod of probes: what of it comes first in `claims` are init containers, so many.
func claimed(claims []claim, inits int) *core.Pod {
	p := probe(claims[0].pod, nil)
	plain := p.Spec.Containers[0]
	p.Spec.Containers = nil
	for at, one := range claims {
		c := plain
		c.Name = one.container
		c.Resources = container(c.Name, asks{"nvidia.com/gpu": fmt.Sprint(one.devices),
			"nvidia.com/gpumem": fmt.Sprint(one.mebibytes), "nvidia.com/gpucores": "10"}).Resources
		if at < inits {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	// So that cards differ, too.
	p.Annotations = map[string]string{"use.divvy.dev/device-policy": "spread"}
	return p
}

// A testimony is what containers said that asked for these.
type testimony struct {
	claims []claim // in the order in which they were made
	pods   map[string]*core.Pod
	said   map[claim]seen
}

// testify makes these pods at once and hears their containers, when all have ended.
func (w *world) testify(pods []*core.Pod, claims []claim) (*testimony, error) {
	heard := &testimony{claims: slices.Clone(claims), pods: map[string]*core.Pod{}, said: map[claim]seen{}}
	made := make([]*core.Pod, len(pods))
	err := atOnce(len(pods), func(at int) (err error) {
		made[at], err = w.create(pods[at])
		return err
	})
	if err != nil {
		return nil, err
	}
	order := map[string]uint64{}
	for _, p := range made {
		// The API server numbers what is written, and tells seconds only otherwise.
		if order[p.Name], err = strconv.ParseUint(p.ResourceVersion, 10, 64); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(heard.claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(order[a.pod], order[b.pod]), a.place-b.place)
	})
	for _, one := range heard.claims {
		err := w.until(one.pod+" has run", func() error {
			p, err := w.get(one.pod)
			if err != nil {
				return err
			}
			heard.pods[one.pod] = p
			heard.said[one], err = saidBy(p, one.container)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return heard, nil
}

// has: what `who` said is what is due to `whose`: number of devices, limit, and the card of its assignment.
func (t *testimony) has(who, whose claim) error {
	said := t.said[who]
	if err := said.limitedOn(uint64(whose.devices), uint64(whose.mebibytes)<<20); err != nil {
		return err
	}
	return said.onCard(t.pods[whose.pod], whose.place)
}

// right: each container has what is its own.
func (t *testimony) right() error {
	for _, one := range t.claims {
		if err := t.has(one, one); err != nil {
			return fmt.Errorf("%s of %s: %w", one.container, one.pod, err)
		}
	}
	if t.cards() < 2 {
		return errors.New("all are on one card: who has another's would not show")
	}
	return nil
}

// cards are so many that somebody saw.
func (t *testimony) cards() int {
	found := map[uint64]bool{}
	for _, said := range t.said {
		found[said["uuid"]] = true
	}
	return len(found)
}

// A beginning is a container that the agent let begin. Its tenant is called after the units that the
// kubelet gave it.
type beginning struct{ tenant, pod, container string }

var toldOfBeginning = regexp.MustCompile(`tenant (\S+) given: .*, container (\S+) of pod ([^/\s]+)/(\S+)`)

// beginnings are those of the check's own pods, in their order, as the agent's log has them.
func (w *world) beginnings() ([]beginning, error) {
	text, err := os.ReadFile(w.processes.log(agentProcess))
	if err != nil {
		return nil, err
	}
	var found []beginning
	for _, words := range toldOfBeginning.FindAllStringSubmatch(string(text), -1) {
		one := beginning{words[1], words[4], words[2]}
		// A runtime that fails is asked once more.
		if words[3] == w.space && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found, nil
}

// A guess is whose share a container would be given that begins: what a plugin does that does not ask
// whose the units are. `begun` began before it.
type guess func(begun []claim, units map[claim]string, now claim) claim

// byOrder: who begins as the so-manieth has what was asked for as the so-manieth.
func (t *testimony) byOrder(begun []claim, _ map[claim]string, _ claim) claim {
	return t.claims[len(begun)]
}

// byUnits: who comes with the same units is who came with them first.
func (t *testimony) byUnits(begun []claim, units map[claim]string, now claim) claim {
	for _, before := range begun {
		if before.pod == now.pod && units[before] == units[now] {
			return before
		}
	}
	return now
}

// wrongBy is how many of the containers would have had another's share by that guess, by what they
// said and the order in which they began. The control: where none would, nothing was mixed.
func (t *testimony) wrongBy(history []beginning, whose guess) (int, error) {
	if len(history) != len(t.claims) {
		return 0, fmt.Errorf("%d containers asked, the agent tells of %d", len(t.claims), len(history))
	}
	var begun []claim
	units := map[claim]string{}
	wrong := 0
	for _, one := range history {
		at := slices.IndexFunc(t.claims, func(c claim) bool { return c.pod == one.pod && c.container == one.container })
		if at < 0 {
			return 0, fmt.Errorf("%s of %s began, and did not ask", one.container, one.pod)
		}
		now := t.claims[at]
		units[now] = one.tenant
		if t.has(now, whose(begun, units, now)) != nil {
			wrong++
		}
		begun = append(begun, now)
	}
	return wrong, nil
}
