package compatibility

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

func TestPodEncodings(t *testing.T) {
	checks.Run(t, checks.Check{Name: "pods-in-protobuf-are-what-they-are-in-json",
		Requirement: "the scheduler knows 50,000 pods within 2 s of its start: by reading them in protobuf", Run: samePods})
}

// fullPod says something in every member that Divvy reads, and in some that it does not.
func fullPod() *core.Pod {
	yes, grace, always := true, int64(7), core.ContainerRestartPolicyAlways
	p := harness.Pod("full", harness.Container("c", harness.Limits{"memory": "1073741824", "cpu": "1500m"}),
		harness.Container("d", nil))
	p.Labels = map[string]string{"a": "b", "empty": ""}
	p.Annotations = map[string]string{"example.com/text": "ö \"\\\n<>&", "example.com/empty": ""}
	p.Finalizers = []string{"example.com/kept"}
	p.OwnerReferences = []meta.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "none",
		UID: "00000000-0000-4000-8000-000000000000", Controller: &yes}}
	p.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: "example.com/gate"}}
	p.Spec.SchedulerName = "nobody"
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.PriorityClassName = "system-cluster-critical"
	p.Spec.NodeSelector = map[string]string{"k": "v"}
	p.Spec.Tolerations = []core.Toleration{{Key: "k", Operator: core.TolerationOpExists}}
	p.Spec.Containers[0].SecurityContext = &core.SecurityContext{Privileged: &yes}
	p.Spec.Containers[1].Resources.Requests = core.ResourceList{"memory": resource.MustParse("0.5Gi")}
	sidecar := harness.Container("sidecar", nil)
	sidecar.RestartPolicy = &always
	p.Spec.InitContainers = []core.Container{harness.Container("init", nil), sidecar}
	return p
}

// fillStatus says what the status of a pod has to say. Whoever collects garbage deletes a pod whose owner is not
// there, which makes another version of it.
func fillStatus(env *harness.Env, name string) error {
	pods := env.Client.CoreV1().Pods(env.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p, err := pods.Get(env.Ctx, name, meta.GetOptions{})
		if err != nil {
			return err
		}
		p.Status.NominatedNodeName = "nobody"
		p.Status.Conditions = append(p.Status.Conditions, core.PodCondition{Type: "PodScheduled",
			Status: core.ConditionTrue, LastTransitionTime: meta.Now()},
			core.PodCondition{Type: "divvy.dev/DevicesFit", Status: core.ConditionFalse, Reason: "NoRoom",
				Message: "why", LastTransitionTime: meta.Now()})
		_, err = pods.UpdateStatus(env.Ctx, p, meta.UpdateOptions{})
		return err
	})
}

func samePods(env *harness.Env) error {
	program := filepath.Join(filepath.Dir(env.Divvy), "..", "tests", "pod_forms")
	if _, err := os.Stat(program); err != nil {
		return harness.Skip{Cause: fmt.Errorf("%s is not built", program)}
	}
	made, err := env.Create(fullPod())
	if err != nil {
		return err
	}
	// It goes as it came: by itself it would stay.
	defer func() {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		_, _ = env.Client.CoreV1().Pods(env.Namespace).Patch(env.Ctx, made.Name,
			"application/merge-patch+json", patch, meta.PatchOptions{})
	}()
	if _, err := env.Create(harness.Pod("plain", harness.Container("c", nil))); err != nil {
		return err
	}
	if err := fillStatus(env, made.Name); err != nil {
		return err
	}
	// Deleted, and there still: its finalizer keeps it.
	err = env.Client.CoreV1().Pods(env.Namespace).Delete(env.Ctx, made.Name, meta.DeleteOptions{})
	if err != nil {
		return err
	}
	return env.WaitFor("all pods are read in both forms", func() error {
		var said struct {
			Same, Different []string
			AsJSON          int `json:"as_json"`
		}
		text, err := exec.CommandContext(env.Ctx, program, env.Path("kubeconfig")).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		if err == nil {
			err = json.Unmarshal(text, &said)
		}
		if err != nil {
			return err
		}
		if len(said.Different) > 0 || said.AsJSON > 0 {
			return fmt.Errorf("different: %v; in JSON all the same: %d", said.Different, said.AsJSON)
		}
		for _, name := range []string{"full", "plain"} {
			if !slices.Contains(said.Same, env.Namespace+"/"+name) {
				return fmt.Errorf("%s is not among the same: %v", name, said.Same)
			}
		}
		env.Note = fmt.Sprintf("%d pods are the same in both", len(said.Same))
		return nil
	})
}
