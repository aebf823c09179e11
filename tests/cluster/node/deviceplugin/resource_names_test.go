package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-one-card-has-many-names",
			"a card is counted by every device, by Divvy's own name and by its model's, and is one card: who asks by " +
				"another name gets his own share of it, and nothing once it is full: then the kubelet offers none of it " +
				"by any name, and all of it again before somebody comes; without names of models the node has none " +
				"of them, and a full card's units stay",
			manyNames},
		check{"kubelet-names-come-and-go-under-pods",
			"an agent that serves a card's names in another order knows the shares of running pods, and keeps them " +
				"apart from new ones; who asks by a name that a node's agent does not serve any more waits, and comes " +
				"once it does",
			namesInAnyOrder})
}

// withdrawnBound: ten seconds until the node says that a card is full, five until the kubelet is told,
// ten until its status says so.
const withdrawnBound = 27 * time.Second

const (
	ownName   = "divvy.dev/gpu"
	modelName = "divvy.dev/gpu-h100"
)

// by is a share of that card, asked for by another name.
func by(name, pod, uuid, mebibytes string) *core.Pod {
	limits := asks{name: "1", "divvy.dev/gpumem": mebibytes, "divvy.dev/gpucores": "10"}
	return annotated(probe(pod, limits), "use.divvy.dev/uuid", uuid)
}

// holding is the same, by a container that does nothing.
func holding(p *core.Pod) *core.Pod {
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = pauseImage, []string{"/pause"}
	return p
}

// countedBy waits until the kubelet counts so many units by that name.
func (w *world) countedBy(name string, units int64) error {
	return w.until(fmt.Sprintf("%d units of %s", units, name), func() error {
		node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		now, known := node.Status.Allocatable[core.ResourceName(name)]
		if now.Value() != units {
			return fmt.Errorf("there are %s (%v); %s", now.String(), known, w.processes.tail(agentProcess))
		}
		return nil
	})
}

func manyNames(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	uuids, _, err := w.cardsNow()
	if err != nil {
		return err
	}
	// As the agent is told where nobody says otherwise; the node's status may be of who was before it.
	const each = 10
	units := int64(each * len(uuids))
	for _, name := range []string{"nvidia.com/gpu", ownName, modelName} {
		if err := w.countedBy(name, units); err != nil {
			return err
		}
	}
	if err := w.eachByItsName(uuids[0]); err != nil {
		return err
	}
	if err := w.fullByOneName(uuids[1], units, each); err != nil {
		return err
	}
	if err := w.fullByModel(uuids[2]); err != nil {
		return err
	}
	if err := w.emptied(); err != nil {
		return err
	}
	return w.withoutNames(uuids[1], units)
}

// eachByItsName: units are called alike by every name, shares are not mixed up.
func (w *world) eachByItsName(uuid string) error {
	wanted := map[string]string{"nvidia.com/gpu": "2000", ownName: "3000", modelName: "4000"}
	podOf := func(name string) string { return strings.NewReplacer("/", "-", ".", "-").Replace(name) }
	for name, mebibytes := range wanted {
		if _, err := w.create(by(name, podOf(name), uuid, mebibytes)); err != nil {
			return err
		}
	}
	for name, mebibytes := range wanted {
		said, err := w.ended(podOf(name), 0)
		var total uint64
		if err == nil {
			_, err = fmt.Sscan(mebibytes, &total)
		}
		if err == nil {
			err = said.limited(total << 20)
		}
		if err != nil {
			return fmt.Errorf("by %s: %w", name, err)
		}
		if on, err := w.onCard(podOf(name)); err != nil || on != uuid {
			return errors.Join(err, fmt.Errorf("who asked by %s is on %s, not %s", name, on, uuid))
		}
	}
	return nil
}

// fullByOneName: whoever comes by another name waits, and has his share when there is room. `each`:
// units of one card.
func (w *world) fullByOneName(uuid string, units, each int64) error {
	whole := annotated(probe("whole", asks{"nvidia.com/gpu": "1"}), "use.divvy.dev/uuid", uuid)
	if _, err := w.create(holding(whole)); err != nil {
		return err
	}
	if err := w.runs("whole"); err != nil {
		return err
	}
	for pod, name := range map[string]string{"own": ownName, "model": modelName} {
		if _, err := w.create(by(name, pod, uuid, "1000")); err != nil {
			return err
		}
	}
	for _, pod := range []string{"own", "model"} {
		if _, err := w.refusedFor(pod, "memory"); err != nil {
			return err
		}
	}
	// Who has the card keeps its unit; by other names none of it is left.
	for name, left := range map[string]int64{"nvidia.com/gpu": units - each + 1, ownName: units - each,
		modelName: units - each} {
		if err := w.countedBy(name, left); err != nil {
			return err
		}
	}
	// The cards have so many, and more; offered is one less.
	more := probe(w.space, asks{modelName: fmt.Sprint(units - each + 1)})
	err := w.pastTheScheduler(more, "the kubelet turns it away", func(found *core.Pod) error {
		if found.Status.Phase != core.PodFailed || found.Status.Reason != tooEarly {
			return fmt.Errorf("it is %s %s: %s", found.Status.Phase, found.Status.Reason, found.Status.Message)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.remove("whole"); err != nil {
		return err
	}
	for _, pod := range []string{"own", "model"} {
		said, err := w.ended(pod, 0)
		if err == nil {
			err = said.limited(1000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pod, err)
		}
	}
	return w.countedBy(modelName, units)
}

// fullByModel: it is the same whichever name comes first.
func (w *world) fullByModel(uuid string) error {
	whole := annotated(probe("all", asks{modelName: "1", "divvy.dev/gpumem-percentage": "100"}), "use.divvy.dev/uuid", uuid)
	if _, err := w.create(holding(whole)); err != nil {
		return err
	}
	if err := w.runs("all"); err != nil {
		return err
	}
	if _, err := w.create(by("nvidia.com/gpu", "theirs", uuid, "1000")); err != nil {
		return err
	}
	if _, err := w.refusedFor("theirs", "memory"); err != nil {
		return err
	}
	if err := w.remove("all"); err != nil {
		return err
	}
	_, err := w.ended("theirs", 0)
	return err
}

// withoutNames is the control.
func (w *world) withoutNames(uuid string, units int64) (err error) {
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	if err := w.agentBegins(record.Build, "--resource", "nvidia.com/gpu", "--model-names", "off"); err != nil {
		return err
	}
	// Names that nobody serves any more stay in a node's status, with none to have.
	for name, count := range map[string]int64{ownName: 0, modelName: 0, "nvidia.com/gpu": units} {
		if err := w.countedBy(name, count); err != nil {
			return err
		}
	}
	whole := annotated(probe("whole", asks{"nvidia.com/gpu": "1"}), "use.divvy.dev/uuid", uuid)
	if _, err := w.create(holding(whole)); err != nil {
		return err
	}
	if err := w.runs("whole"); err != nil {
		return err
	}
	return w.countedThroughout("nvidia.com/gpu", units, withdrawnBound)
}

// countedThroughout: for so long nothing else is counted.
func (w *world) countedThroughout(name string, units int64, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until); time.Sleep(time.Second) {
		node, err := w.client.CoreV1().Nodes().Get(w.ctx, kubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		if now := node.Status.Allocatable[core.ResourceName(name)]; now.Value() != units {
			return fmt.Errorf("there are %s of %s, and not %d", now.String(), name, units)
		}
	}
	return nil
}

// Pods by two names, whose units on a card are called alike; MiB.
var twoNames = map[string]int{"nvidia.com/gpu": 2000, ownName: 3000}

func (w *world) begunByBoth(prefix, uuid string) error {
	pods := map[string]string{"nvidia.com/gpu": prefix + "-theirs", ownName: prefix + "-own"}
	for name, pod := range pods {
		if _, err := w.create(holding(by(name, pod, uuid, fmt.Sprint(twoNames[name])))); err != nil {
			return err
		}
	}
	return errors.Join(w.runs(prefix+"-theirs"), w.runs(prefix+"-own"), w.limitedByBoth(prefix))
}

// limitedByBoth: the agent knows whose each share is.
func (w *world) limitedByBoth(prefix string) error {
	const family = "divvy_tenant_memory_limit_bytes"
	limit := func(name string) string { return fmt.Sprintf("} %d", twoNames[name]<<20) }
	return errors.Join(w.shows(family, prefix+"-theirs", limit("nvidia.com/gpu")),
		w.shows(family, prefix+"-own", limit(ownName)))
}

func namesInAnyOrder(w *world) (err error) {
	record, uuids, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	if err := w.begunByBoth("before", uuids[0]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	if err := w.agentBegins(record.Build, "--resource", ownName+",nvidia.com/gpu"); err != nil {
		return err
	}
	if err := w.limitedByBoth("before"); err != nil {
		return err
	}
	if err := w.begunByBoth("after", uuids[0]); err != nil {
		return err
	}
	if err := w.limitedByBoth("before"); err != nil {
		return err
	}
	return w.oneNameLeft(record.Build, uuids[0])
}

// agentServesOwnName: and no other.
func (w *world) agentServesOwnName(build string) error {
	if err := w.endProcess(agentProcess); err != nil {
		return err
	}
	mark := w.agentLogs()
	if err := w.runAgent(build, "--resource", ownName, "--model-names", "off"); err != nil {
		return err
	}
	return w.agentSays("the kubelet knows "+ownName, mark)
}

// oneNameLeft: the other one is not served, and asked for.
func (w *world) oneNameLeft(build, uuid string) error {
	if err := w.agentServesOwnName(build); err != nil {
		return err
	}
	// While the kubelet counts none by any name the agent is taken to be gone.
	if err := errors.Join(w.countedBy(ownName, 40), w.countedBy("nvidia.com/gpu", 0)); err != nil {
		return err
	}
	if _, err := w.create(by("nvidia.com/gpu", "unserved", uuid, "1000")); err != nil {
		return err
	}
	if _, err := w.refusedFor("unserved", "models that were not asked for"); err != nil {
		return err
	}
	if _, err := w.create(by(ownName, "served", uuid, "1000")); err != nil {
		return err
	}
	if _, err := w.ended("served", 0); err != nil {
		return err
	}
	if err := w.agentBegins(build); err != nil {
		return err
	}
	said, err := w.ended("unserved", 0)
	if err == nil {
		err = said.limited(1000 << 20)
	}
	return errors.Join(err, w.countedBy("nvidia.com/gpu", 40))
}
