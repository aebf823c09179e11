package compatibility

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestHamiAgents(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "hamis-monitor-finds-its-pods",
			Requirement: "HAMi's pod label by a second write after the bind, only where a HAMi monitor runs",
			Run:         monitorFinds},
		checks.Check{Name: "a-locked-node-takes-one-pod-at-a-time",
			Requirement: "foreign vendor plugins that need the node lock get it; a locked node is a retryable error",
			Run:         lockedNode},
		checks.Check{Name: "resources-are-called-as-hami-was-told",
			Requirement: "device-config.yaml read as it is: renamed resources reach webhook and kube-scheduler",
			Run:         renamed},
		checks.Check{Name: "an-agent-that-reports-is-asked-again",
			Requirement: "handshakes of foreign plugins: who reports is answered by Requesting, who left has no " +
				"devices until it reports again", Run: handshake})
}

// pluginOn is what a HAMi device plugin's pod looks like there.
func pluginOn(env *harness.Env, node string) error {
	p := harness.Pod("plugin", harness.Container("c", harness.Limits{"cpu": "1m"}))
	p.Labels = map[string]string{"app.kubernetes.io/component": "hami-device-plugin"}
	p.Spec.NodeName = node
	_, err := env.Create(p)
	return err
}

func monitorFinds(env *harness.Env) error {
	const with, without = "node-00001", "node-00002"
	if err := pluginOn(env, with); err != nil {
		return err
	}
	for _, node := range []string{without, with} {
		p := harness.Pod("on-"+node, harness.Container("c", harness.OneShare("1000", "10")))
		p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node}
		if _, err := env.Create(p); err != nil {
			return err
		}
		if _, err := env.WaitBound(p.Name); err != nil {
			return err
		}
	}
	err := env.WaitFor("the label", func() error {
		p, err := env.Get("on-" + with)
		if err == nil && p.Labels[harness.AssignedNodeKey] != with {
			err = fmt.Errorf("labels are %v", p.Labels)
		}
		return err
	})
	if err != nil {
		return err
	}
	p, err := env.Get("on-" + without)
	if err == nil && p.Labels[harness.AssignedNodeKey] != "" {
		err = fmt.Errorf("it is labelled where nobody reads it")
	}
	if err == nil {
		err = unlock(env, with)
	}
	return err
}

// unlock is what an agent does when it has handed out a pod's devices.
func unlock(env *harness.Env, node string) error {
	text, err := harness.AnnotationPatch(map[string]any{harness.NodeLockKey: nil})
	if err != nil {
		return err
	}
	_, err = env.Client.CoreV1().Nodes().Patch(env.Ctx, node, types.MergePatchType, text,
		meta.PatchOptions{})
	return err
}

func lockedNode(env *harness.Env) error {
	var hygon family
	for _, one := range families {
		if one.name == "hygon" {
			hygon = one
		}
	}
	name := env.Namespace + "-lock"
	if _, err := env.Client.CoreV1().Nodes().Create(env.Ctx, hygon.node(name), meta.CreateOptions{}); err != nil {
		return err
	}
	err := oneAtATime(env, name, harness.Limits{"hygon.com/dcunum": "1", "hygon.com/dcumem": "1000",
		"hygon.com/dcucores": "10"})
	if gone := env.Client.CoreV1().Nodes().Delete(env.Ctx, name, meta.DeleteOptions{}); err == nil {
		err = gone
	}
	return err
}

func oneAtATime(env *harness.Env, node string, request harness.Limits) error {
	if _, err := env.Create(harness.Pod("first", harness.Container("c", request))); err != nil {
		return err
	}
	if _, err := env.WaitBound("first"); err != nil {
		return err
	}
	lock, err := env.NodeLock(node)
	if err != nil {
		return err
	}
	fields := strings.Split(lock, ",")
	if len(fields) != 3 || fields[1] != env.Namespace || fields[2] != "first" {
		return fmt.Errorf("the lock is %q", lock)
	}
	if at, err := time.Parse(time.RFC3339, fields[0]); err != nil || time.Since(at) > time.Minute {
		return fmt.Errorf("the lock's instant is %q: %v", fields[0], err)
	}
	if _, err := env.Create(harness.Pod("second", harness.Container("c", request))); err != nil {
		return err
	}
	// Of a bind that failed kube-scheduler says so in an Event.
	err = env.WaitFor("the second is put off", func() error {
		events, err := env.Client.CoreV1().Events(env.Namespace).List(env.Ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		for _, one := range events.Items {
			if one.InvolvedObject.Name == "second" && strings.Contains(one.Message, "is locked for") {
				return nil
			}
		}
		return fmt.Errorf("nothing is said of it")
	})
	if err != nil {
		return err
	}
	if err := unlock(env, node); err != nil {
		return err
	}
	if _, err := env.WaitBound("second"); err != nil {
		return err
	}
	// A lock whose pod is gone is nobody's.
	if err := env.Delete("second"); err != nil {
		return err
	}
	if _, err := env.Create(harness.Pod("third", harness.Container("c", request))); err != nil {
		return err
	}
	_, err = env.WaitBound("third")
	return err
}

const handshakeKey = "hami.io/node-handshake"

// shakes is what a plugin of the old contract does.
func shakes(env *harness.Env, node, text string) error {
	_, err := env.Client.CoreV1().Nodes().Patch(env.Ctx, node, types.MergePatchType,
		harness.AnnotationValuePatch(handshakeKey, text),
		meta.PatchOptions{})
	return err
}

func handshake(env *harness.Env) (err error) {
	node := env.Namespace + "-shakes"
	// From the first on: the scheduler might hear of the pod before it hears of a change.
	left := map[string]string{handshakeKey: "Deleted_2026-08-21 10:00:00"}
	if err = env.CreateNodeWithAnnotations(node, left, "NVIDIA H20"); err != nil {
		return err
	}
	defer env.DeleteNode(node, &err)
	request := harness.Limits{"divvy.dev/gpu-h20": "1", "nvidia.com/gpumem": "1000"}
	if _, err = env.Create(harness.Pod("early", harness.Container("c", request))); err != nil {
		return err
	}
	if _, err = env.WaitRefused("early"); err != nil {
		return err
	}
	if err = shakes(env, node, "Reported 2026-08-21 10:00:30"); err != nil {
		return err
	}
	if _, err = env.WaitBound("early"); err != nil {
		return err
	}
	return env.WaitFor("the plugin is asked again", func() error {
		found, err := env.Client.CoreV1().Nodes().Get(env.Ctx, node, meta.GetOptions{})
		if err == nil && !strings.HasPrefix(found.Annotations[handshakeKey], "Requesting_20") {
			err = fmt.Errorf("its handshake is %q", found.Annotations[handshakeKey])
		}
		return err
	})
}

const renamedConfig = `nvidia:
  resourceCountName: example.com/vgpu
  resourceMemoryName: example.com/vgpu-memory
  resourceCoreName: example.com/vgpu-cores
  resourceMemoryPercentageName: example.com/vgpu-percent
  resourcePriorityName: example.com/vgpu-priority
  defaultMemory: 2000
  deviceSplitCount: 10
`

func renamed(env *harness.Env) error {
	file := env.Path("device-config.yaml")
	if err := os.WriteFile(file, []byte(renamedConfig), 0o644); err != nil {
		return err
	}
	return env.WithResourceNames("example.com/vgpu", []string{"--device-config", file},
		func() error { return asRenamed(env) })
}

func asRenamed(env *harness.Env) error {
	if _, err := env.Create(harness.Pod("p", harness.Container("c",
		harness.Limits{"example.com/vgpu": "1"}))); err != nil {
		return err
	}
	p, err := env.WaitBound("p")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(p)
	if err != nil {
		return err
	}
	if shares[0][0].Memory != "2000" {
		return fmt.Errorf("%v: the default memory is 2000", shares[0][0])
	}
	// API servers hear of policies and registrations later than they are written.
	return env.WaitFor("what is called otherwise is for others", func() error {
		plain, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx,
			harness.Pod("theirs", harness.Container("c", harness.Limits{"nvidia.com/gpu": "1"})),
			meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil && plain.Spec.SchedulerName != "default-scheduler" {
			err = fmt.Errorf("it is for %s", plain.Spec.SchedulerName)
		}
		return err
	})
}
