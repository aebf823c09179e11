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

// A ContainerRequest is what one container requests, and has to see.
type ContainerRequest struct {
	Pod       string
	Container string
	Index     int // in its pod, init containers first
	Mebibytes int
	Devices   int
}

// RequestPod makes a pod of probes: what of it comes first in `requests` are init containers, so many.
func RequestPod(requests []ContainerRequest, inits int) *core.Pod {
	p := ProbePod(requests[0].Pod, nil)
	plain := p.Spec.Containers[0]
	p.Spec.Containers = nil
	for at, one := range requests {
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

// RequestReports are the reports of the containers of these requests.
type RequestReports struct {
	requests []ContainerRequest // in the order in which they were made
	pods     map[string]*core.Pod
	said     map[ContainerRequest]ProbeReport
}

// RunRequests creates these pods at once, and reads the reports of their containers when all have ended.
func (env *Env) RunRequests(pods []*core.Pod, requests []ContainerRequest) (*RequestReports, error) {
	reports := &RequestReports{requests: slices.Clone(requests), pods: map[string]*core.Pod{},
		said: map[ContainerRequest]ProbeReport{}}
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
	slices.SortFunc(reports.requests, func(a, b ContainerRequest) int {
		return cmp.Or(cmp.Compare(order[a.Pod], order[b.Pod]), a.Index-b.Index)
	})
	for _, one := range reports.requests {
		err := env.WaitFor(one.Pod+" has run", func() error {
			p, err := env.Get(one.Pod)
			if err != nil {
				return err
			}
			reports.pods[one.Pod] = p
			reports.said[one], err = reportBy(p, one.Container)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// has: what `who` said is what is due to `whose`: number of devices, limit, and the card of its assignment.
func (t *RequestReports) has(who, whose ContainerRequest) error {
	said := t.said[who]
	if err := said.limitedOn(uint64(whose.Devices), uint64(whose.Mebibytes)<<20); err != nil {
		return err
	}
	return said.onCard(t.pods[whose.Pod], whose.Index)
}

// Correct: each container has what is its own.
func (t *RequestReports) Correct() error {
	for _, one := range t.requests {
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
func (t *RequestReports) Cards() int {
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
type guess func(begun []ContainerRequest, deviceIDs map[ContainerRequest]string, now ContainerRequest) ContainerRequest

// ByOrder: who begins as the so-manieth has what was asked for as the so-manieth.
func (t *RequestReports) ByOrder(begun []ContainerRequest, _ map[ContainerRequest]string,
	_ ContainerRequest) ContainerRequest {
	return t.requests[len(begun)]
}

// ByDeviceIDs: who comes with the same units is who came with them first.
func (t *RequestReports) ByDeviceIDs(begun []ContainerRequest, deviceIDs map[ContainerRequest]string,
	now ContainerRequest) ContainerRequest {
	for _, before := range begun {
		if before.Pod == now.Pod && deviceIDs[before] == deviceIDs[now] {
			return before
		}
	}
	return now
}

// CountWrong is how many of the containers would have had another's share by that guess, by what they
// said and the order in which they began. The control: where none would, nothing was mixed.
func (t *RequestReports) CountWrong(history []beginning, whose guess) (int, error) {
	if len(history) != len(t.requests) {
		return 0, fmt.Errorf("%d containers asked, the agent tells of %d", len(t.requests), len(history))
	}
	var begun []ContainerRequest
	deviceIDs := map[ContainerRequest]string{}
	wrong := 0
	for _, one := range history {
		at := slices.IndexFunc(t.requests, func(c ContainerRequest) bool {
			return c.Pod == one.pod && c.Container == one.container
		})
		if at < 0 {
			return 0, fmt.Errorf("%s of %s began, and did not ask", one.container, one.pod)
		}
		now := t.requests[at]
		deviceIDs[now] = one.tenant
		if t.has(now, whose(begun, deviceIDs, now)) != nil {
			wrong++
		}
		begun = append(begun, now)
	}
	return wrong, nil
}
