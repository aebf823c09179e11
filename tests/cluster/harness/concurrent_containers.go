package harness

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

// A Claim is what one container asks for, and has to see.
type Claim struct {
	Pod       string
	Container string
	Place     int // in its pod, init containers first
	Mebibytes int
	Devices   int
}

// ClaimPod makes a pod of probes: what of it comes first in `claims` are init containers, so many.
func ClaimPod(claims []Claim, inits int) *core.Pod {
	p := ProbePod(claims[0].Pod, nil)
	plain := p.Spec.Containers[0]
	p.Spec.Containers = nil
	for at, one := range claims {
		c := plain
		c.Name = one.Container
		c.Resources = Container(c.Name, Limits{"nvidia.com/gpu": fmt.Sprint(one.Devices),
			"nvidia.com/gpumem": fmt.Sprint(one.Mebibytes), "nvidia.com/gpucores": "10"}).Resources
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

// A ClaimReports is what containers said that asked for these.
type ClaimReports struct {
	claims []Claim // in the order in which they were made
	pods   map[string]*core.Pod
	said   map[Claim]ProbeReport
}

// RunClaims makes these pods at once and hears their containers, when all have ended.
func (env *Env) RunClaims(pods []*core.Pod, claims []Claim) (*ClaimReports, error) {
	heard := &ClaimReports{claims: slices.Clone(claims), pods: map[string]*core.Pod{}, said: map[Claim]ProbeReport{}}
	made := make([]*core.Pod, len(pods))
	err := Concurrently(len(pods), func(at int) (err error) {
		made[at], err = env.Create(pods[at])
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
	slices.SortFunc(heard.claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(order[a.Pod], order[b.Pod]), a.Place-b.Place)
	})
	for _, one := range heard.claims {
		err := env.WaitFor(one.Pod+" has run", func() error {
			p, err := env.Get(one.Pod)
			if err != nil {
				return err
			}
			heard.pods[one.Pod] = p
			heard.said[one], err = reportBy(p, one.Container)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return heard, nil
}

// has: what `who` said is what is due to `whose`: number of devices, limit, and the card of its assignment.
func (t *ClaimReports) has(who, whose Claim) error {
	said := t.said[who]
	if err := said.limitedOn(uint64(whose.Devices), uint64(whose.Mebibytes)<<20); err != nil {
		return err
	}
	return said.onCard(t.pods[whose.Pod], whose.Place)
}

// Correct: each container has what is its own.
func (t *ClaimReports) Correct() error {
	for _, one := range t.claims {
		if err := t.has(one, one); err != nil {
			return fmt.Errorf("%s of %s: %w", one.Container, one.Pod, err)
		}
	}
	if t.Cards() < 2 {
		return errors.New("all are on one card: who has another's would not show")
	}
	return nil
}

// Cards are so many that somebody saw.
func (t *ClaimReports) Cards() int {
	found := map[uint64]bool{}
	for _, said := range t.said {
		found[said["uuid"]] = true
	}
	return len(found)
}

// A beginning is a container that the agent let begin. Its tenant is called after the units that the
// kubelet gave it.
type beginning struct{ tenant, pod, container string }

var toldOfBeginning = regexp.MustCompile(`kind=given tenant=(\S+) reason=".*, container (\S+) of pod ([^/\s]+)/([^"\s]+)`)

// ContainerStarts are those of the check's own pods, in their order, as the agent's log has them.
func (env *Env) ContainerStarts() ([]beginning, error) {
	text, err := os.ReadFile(env.Processes.Log(AgentProcess))
	if err != nil {
		return nil, err
	}
	var found []beginning
	for _, words := range toldOfBeginning.FindAllStringSubmatch(string(text), -1) {
		one := beginning{words[1], words[4], words[2]}
		// A runtime that fails is asked once more.
		if words[3] == env.Namespace && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found, nil
}

// A guess is whose share a container would be given that begins: what a plugin does that does not ask
// whose the units are. `begun` began before it.
type guess func(begun []Claim, units map[Claim]string, now Claim) Claim

// ByOrder: who begins as the so-manieth has what was asked for as the so-manieth.
func (t *ClaimReports) ByOrder(begun []Claim, _ map[Claim]string, _ Claim) Claim {
	return t.claims[len(begun)]
}

// ByUnits: who comes with the same units is who came with them first.
func (t *ClaimReports) ByUnits(begun []Claim, units map[Claim]string, now Claim) Claim {
	for _, before := range begun {
		if before.Pod == now.Pod && units[before] == units[now] {
			return before
		}
	}
	return now
}

// CountWrong is how many of the containers would have had another's share by that guess, by what they
// said and the order in which they began. The control: where none would, nothing was mixed.
func (t *ClaimReports) CountWrong(history []beginning, whose guess) (int, error) {
	if len(history) != len(t.claims) {
		return 0, fmt.Errorf("%d containers asked, the agent tells of %d", len(t.claims), len(history))
	}
	var begun []Claim
	units := map[Claim]string{}
	wrong := 0
	for _, one := range history {
		at := slices.IndexFunc(t.claims, func(c Claim) bool { return c.Pod == one.pod && c.Container == one.container })
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
