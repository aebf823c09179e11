package deviceplugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestResourceNames(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-one-card-has-many-names",
			Requirement: "a card is counted by every device, by Divvy's own name and by its model's, and is one card: who asks by " +
				"another name gets his own share of it, and nothing once it is full: then the kubelet offers none of it " +
				"by any name, and all of it again before somebody comes; without names of models the node has none " +
				"of them, and a full card's units stay",
			Run: manyNames},
		checks.Check{Name: "kubelet-names-come-and-go-under-pods",
			Requirement: "an agent that serves a card's names in another order knows the shares of running pods, and keeps them " +
				"apart from new ones; who asks by a name that a node's agent does not serve any more waits, and comes " +
				"once it does",
			Run: namesInAnyOrder})
}

// withdrawnBound: ten seconds until the node says that a card is full, five until the kubelet is told,
// ten until its status says so.
const withdrawnBound = 27 * time.Second

const (
	modelName = "divvy.dev/gpu-h100"
)

// by is a share of that card, asked for by another name.
func by(name, pod, uuid, mebibytes string) *core.Pod {
	limits := harness.Limits{name: "1", "divvy.dev/gpumem": mebibytes, "divvy.dev/gpucores": "10"}
	return harness.WithAnnotations(harness.ProbePod(pod, limits), "use.divvy.dev/uuid", uuid)
}

func manyNames(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	uuids, _, err := env.Devices()
	if err != nil {
		return err
	}
	// As the agent is told where nobody says otherwise; the node's status may be of who was before it.
	const each = 10
	idCount := int64(each * len(uuids))
	for _, name := range []string{"nvidia.com/gpu", harness.OwnResource, modelName} {
		if err := env.WaitKubeletCapacity(name, idCount); err != nil {
			return err
		}
	}
	if err := eachByItsName(env, uuids[0]); err != nil {
		return err
	}
	if err := fullByOneName(env, uuids[1], idCount, each); err != nil {
		return err
	}
	if err := fullByModel(env, uuids[2]); err != nil {
		return err
	}
	if err := env.DeletePods(); err != nil {
		return err
	}
	return withoutNames(env, uuids[1], idCount)
}

// eachByItsName: units are called alike by every name, shares are not mixed up.
func eachByItsName(env *harness.Env, uuid string) error {
	wanted := map[string]string{"nvidia.com/gpu": "2000", harness.OwnResource: "3000", modelName: "4000"}
	podOf := func(name string) string { return strings.NewReplacer("/", "-", ".", "-").Replace(name) }
	for name, mebibytes := range wanted {
		if _, err := env.Create(by(name, podOf(name), uuid, mebibytes)); err != nil {
			return err
		}
	}
	for name, mebibytes := range wanted {
		said, err := env.WaitResult(podOf(name), 0)
		var total uint64
		if err == nil {
			_, err = fmt.Sscan(mebibytes, &total)
		}
		if err == nil {
			err = said.Limited(total << 20)
		}
		if err != nil {
			return fmt.Errorf("by %s: %w", name, err)
		}
		if on, err := env.DeviceOf(podOf(name)); err != nil || on != uuid {
			return errors.Join(err, fmt.Errorf("who asked by %s is on %s, not %s", name, on, uuid))
		}
	}
	return nil
}

// fullByOneName: whoever comes by another name waits, and has his share when there is room. `each`:
// units of one card.
func fullByOneName(env *harness.Env, uuid string, idCount, each int64) error {
	whole := harness.WithAnnotations(harness.ProbePod("whole", harness.Limits{"nvidia.com/gpu": "1"}),
		"use.divvy.dev/uuid", uuid)
	if _, err := env.Create(harness.IdlePod(whole)); err != nil {
		return err
	}
	if err := env.WaitRunning("whole"); err != nil {
		return err
	}
	for pod, name := range map[string]string{"own": harness.OwnResource, "model": modelName} {
		if _, err := env.Create(by(name, pod, uuid, "1000")); err != nil {
			return err
		}
	}
	for _, pod := range []string{"own", "model"} {
		if _, err := env.WaitRefusedFor(pod, "memory"); err != nil {
			return err
		}
	}
	// Who has the card keeps its unit; by other names none of it is left.
	for name, left := range map[string]int64{"nvidia.com/gpu": idCount - each + 1, harness.OwnResource: idCount - each,
		modelName: idCount - each} {
		if err := env.WaitKubeletCapacity(name, left); err != nil {
			return err
		}
	}
	// The cards have so many, and more; offered is one less.
	more := harness.ProbePod(env.Namespace, harness.Limits{modelName: fmt.Sprint(idCount - each + 1)})
	err := env.BypassScheduler(more, "the kubelet turns it away", func(found *core.Pod) error {
		if found.Status.Phase != core.PodFailed || found.Status.Reason != tooEarly {
			return fmt.Errorf("it is %s %s: %s", found.Status.Phase, found.Status.Reason, found.Status.Message)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := env.Delete("whole"); err != nil {
		return err
	}
	for _, pod := range []string{"own", "model"} {
		said, err := env.WaitResult(pod, 0)
		if err == nil {
			err = said.Limited(1000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pod, err)
		}
	}
	return env.WaitKubeletCapacity(modelName, idCount)
}

// fullByModel: it is the same whichever name comes first.
func fullByModel(env *harness.Env, uuid string) error {
	whole := harness.WithAnnotations(harness.ProbePod("all", harness.Limits{modelName: "1",
		"divvy.dev/gpumem-percentage": "100"}), "use.divvy.dev/uuid", uuid)
	if _, err := env.Create(harness.IdlePod(whole)); err != nil {
		return err
	}
	if err := env.WaitRunning("all"); err != nil {
		return err
	}
	if _, err := env.Create(by("nvidia.com/gpu", "theirs", uuid, "1000")); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("theirs", "memory"); err != nil {
		return err
	}
	if err := env.Delete("all"); err != nil {
		return err
	}
	_, err := env.WaitResult("theirs", 0)
	return err
}

// withoutNames is the control.
func withoutNames(env *harness.Env, uuid string, idCount int64) (err error) {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	if err := env.RestartAgent(record.Build, "--resource", "nvidia.com/gpu", "--model-names", "off"); err != nil {
		return err
	}
	// Names that nobody serves any more stay in a node's status, with none to have.
	for name, count := range map[string]int64{harness.OwnResource: 0, modelName: 0, "nvidia.com/gpu": idCount} {
		if err := env.WaitKubeletCapacity(name, count); err != nil {
			return err
		}
	}
	whole := harness.WithAnnotations(harness.ProbePod("whole", harness.Limits{"nvidia.com/gpu": "1"}),
		"use.divvy.dev/uuid", uuid)
	if _, err := env.Create(harness.IdlePod(whole)); err != nil {
		return err
	}
	if err := env.WaitRunning("whole"); err != nil {
		return err
	}
	return countedThroughout(env, "nvidia.com/gpu", idCount, withdrawnBound)
}

// countedThroughout: for so long nothing else is counted.
func countedThroughout(env *harness.Env, name string, idCount int64, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until); time.Sleep(time.Second) {
		node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, harness.KubeletNode, meta.GetOptions{})
		if err != nil {
			return err
		}
		if now := node.Status.Allocatable[core.ResourceName(name)]; now.Value() != idCount {
			return fmt.Errorf("there are %s of %s, and not %d", now.String(), name, idCount)
		}
	}
	return nil
}

// Pods by two names, whose units on a card are called alike; MiB.
var twoNames = map[string]int{"nvidia.com/gpu": 2000, harness.OwnResource: 3000}

func begunByBoth(env *harness.Env, prefix, uuid string) error {
	pods := map[string]string{"nvidia.com/gpu": prefix + "-theirs", harness.OwnResource: prefix + "-own"}
	for name, pod := range pods {
		if _, err := env.Create(harness.IdlePod(by(name, pod, uuid, fmt.Sprint(twoNames[name])))); err != nil {
			return err
		}
	}
	return errors.Join(env.WaitRunning(prefix+"-theirs"), env.WaitRunning(prefix+"-own"), limitedByBoth(env, prefix))
}

// limitedByBoth: the agent knows whose each share is.
func limitedByBoth(env *harness.Env, prefix string) error {
	const family = "divvy_tenant_memory_limit_bytes"
	limit := func(name string) string { return fmt.Sprintf("} %d", twoNames[name]<<20) }
	return errors.Join(env.WaitMetric(family, prefix+"-theirs", limit("nvidia.com/gpu")),
		env.WaitMetric(family, prefix+"-own", limit(harness.OwnResource)))
}

func namesInAnyOrder(env *harness.Env) (err error) {
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	if err := begunByBoth(env, "before", uuids[0]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	if err := env.RestartAgent(record.Build, "--resource", harness.OwnResource+",nvidia.com/gpu"); err != nil {
		return err
	}
	if err := limitedByBoth(env, "before"); err != nil {
		return err
	}
	if err := begunByBoth(env, "after", uuids[0]); err != nil {
		return err
	}
	if err := limitedByBoth(env, "before"); err != nil {
		return err
	}
	return oneNameLeft(env, record.Build, uuids[0])
}

// oneNameLeft: the other one is not served, and asked for.
func oneNameLeft(env *harness.Env, build, uuid string) error {
	if err := env.RestartAgentWithOwnName(build); err != nil {
		return err
	}
	// While the kubelet counts none by any name the agent is taken to be gone.
	if err := errors.Join(env.WaitKubeletCapacity(harness.OwnResource, 40), env.WaitKubeletCapacity("nvidia.com/gpu",
		0)); err != nil {
		return err
	}
	if _, err := env.Create(by("nvidia.com/gpu", "unserved", uuid, "1000")); err != nil {
		return err
	}
	if _, err := env.WaitRefusedFor("unserved", "models that were not asked for"); err != nil {
		return err
	}
	if _, err := env.Create(by(harness.OwnResource, "served", uuid, "1000")); err != nil {
		return err
	}
	if _, err := env.WaitResult("served", 0); err != nil {
		return err
	}
	if err := env.RestartAgent(build); err != nil {
		return err
	}
	said, err := env.WaitResult("unserved", 0)
	if err == nil {
		err = said.Limited(1000 << 20)
	}
	return errors.Join(err, env.WaitKubeletCapacity("nvidia.com/gpu", 40))
}
