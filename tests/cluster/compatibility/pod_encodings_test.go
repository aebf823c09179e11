package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

func init() {
	checks = append(checks, check{"pods-in-protobuf-are-what-they-are-in-json",
		"the scheduler knows 50,000 pods within 2 s of its start: by reading them in protobuf", samePods})
}

// fullPod says something in every member that Divvy reads, and in some that it does not.
func fullPod() *core.Pod {
	yes, grace, always := true, int64(7), core.ContainerRestartPolicyAlways
	p := pod("full", container("c", asks{"memory": "1073741824", "cpu": "1500m"}), container("d", nil))
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
	sidecar := container("sidecar", nil)
	sidecar.RestartPolicy = &always
	p.Spec.InitContainers = []core.Container{container("init", nil), sidecar}
	return p
}

// fillStatus says what the status of a pod has to say. Whoever collects garbage deletes a pod whose owner is not
// there, which makes another version of it.
func fillStatus(w *world, name string) error {
	pods := w.client.CoreV1().Pods(w.space)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p, err := pods.Get(w.ctx, name, meta.GetOptions{})
		if err != nil {
			return err
		}
		p.Status.NominatedNodeName = "nobody"
		p.Status.Conditions = append(p.Status.Conditions, core.PodCondition{Type: "PodScheduled",
			Status: core.ConditionTrue, LastTransitionTime: meta.Now()},
			core.PodCondition{Type: "divvy.dev/DevicesFit", Status: core.ConditionFalse, Reason: "NoRoom",
				Message: "why", LastTransitionTime: meta.Now()})
		_, err = pods.UpdateStatus(w.ctx, p, meta.UpdateOptions{})
		return err
	})
}

func samePods(w *world) error {
	program := filepath.Join(filepath.Dir(w.divvy), "..", "tests", "pod_forms")
	if _, err := os.Stat(program); err != nil {
		return skip{fmt.Errorf("%s is not built", program)}
	}
	made, err := w.create(fullPod())
	if err != nil {
		return err
	}
	// It goes as it came: by itself it would stay.
	defer func() {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		_, _ = w.client.CoreV1().Pods(w.space).Patch(w.ctx, made.Name,
			"application/merge-patch+json", patch, meta.PatchOptions{})
	}()
	if _, err := w.create(pod("plain", container("c", nil))); err != nil {
		return err
	}
	if err := fillStatus(w, made.Name); err != nil {
		return err
	}
	// Deleted, and there still: its finalizer keeps it.
	err = w.client.CoreV1().Pods(w.space).Delete(w.ctx, made.Name, meta.DeleteOptions{})
	if err != nil {
		return err
	}
	return w.until("all pods are read in both forms", func() error {
		var said struct {
			Same, Different []string
			AsJSON          int `json:"as_json"`
		}
		text, err := exec.CommandContext(w.ctx, program, w.path("kubeconfig")).Output()
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
			if !slices.Contains(said.Same, w.space+"/"+name) {
				return fmt.Errorf("%s is not among the same: %v", name, said.Same)
			}
		}
		w.note = fmt.Sprintf("%d pods are the same in both", len(said.Same))
		return nil
	})
}
