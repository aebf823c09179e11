package queues

import (
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const gangMinKey = "use.divvy.dev/gang-min"

func TestKueue(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kueue-admits-a-job-when-its-devices-are-free",
			Requirement: "admission check divvy.dev/fit in Kueue itself: Ready, Retry and Rejected; an admitted job starts " +
				"whole on the devices that were reserved for it, whatever other pods come meanwhile; a job without " +
				"devices is not admitted, although it has quota",
			Run: kueueAdmitsWhatFits},
		checks.Check{Name: "multikueue-sends-a-job-where-its-devices-are-free",
			Requirement: "MultiKueue in a manager with two workers, all-at-once: a gang runs whole in the worker where its " +
				"devices are free, and in no other; one that fits nowhere waits in the manager, and starts where " +
				"devices become free",
			Run: multiKueueFindsRoom},
		checks.Check{Name: "kueue-hub-dispatches-where-devices-are-free",
			Requirement: "dispatcher divvy.dev/dispatcher of a MultiKueue manager with two workers: jobs of several sizes " +
				"that come at once get one nomination each, in a worker that then admits them; a job that fits nowhere " +
				"waits with a reason for each cluster, and starts where devices become free",
			Run: hubDispatches},
		checks.Check{Name: "kueue-hub-dispatches-many-jobs",
			Requirement: "dispatcher of a MultiKueue manager with three workers under a load of jobs of 20 shapes that come, run " +
				"and end: at least 95 % are admitted by the cluster that was nominated first, with at most 1.3 copies a job; no " +
				"pod waits in a worker for a minute, and no job runs in two",
			Run: hubDispatchesMany})
}

var fitCheck = map[string]any{"controllerName": "divvy.dev/fit"}

// kueueJob makes a job of that many pods with a whole device each, in the LocalQueue of the check.
func kueueJob(env *harness.Env, name string, pods int32, annotations map[string]string) error {
	return kueueJobIn(env, "check", name, pods, annotations)
}

// kueueJobIn is kueueJob with another LocalQueue.
func kueueJobIn(env *harness.Env, queue, name string, pods int32, annotations map[string]string) error {
	job := kueueJobOf(name, queue, pods, harness.WholeDevicePod(name))
	job.Spec.Template.Annotations = annotations
	_, err := env.Client.BatchV1().Jobs(env.Namespace).Create(env.Ctx, job, meta.CreateOptions{})
	return err
}

// kueueJobOf returns a job with pods like this one, in this LocalQueue.
func kueueJobOf(name, queue string, pods int32, pod *core.Pod) *batch.Job {
	suspended := true
	pod.Spec.RestartPolicy = core.RestartPolicyNever
	return &batch.Job{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{harness.KueueQueueLabel: queue}},
		Spec: batch.JobSpec{Parallelism: &pods, Completions: &pods, Suspend: &suspended,
			Template: core.PodTemplateSpec{Spec: pod.Spec}}}
}

// waitCheck waits until the check of a job's workload is in that state, with these words.
func waitCheck(env *harness.Env, job, state, words string) error {
	return env.WaitFor(fmt.Sprintf("the admission check of %s is %s: %s", job, state, words), func() error {
		workload, err := env.KueueWorkloadOf(job)
		if err != nil {
			return err
		}
		for _, one := range workload.Status.AdmissionChecks {
			if one.State == state && strings.Contains(one.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("%+v", workload.Status)
	})
}

// kueueQueues makes a ClusterQueue with more quota than there are devices, with this admission check.
func kueueQueues(env *harness.Env, check map[string]any) error {
	covered := []string{"nvidia.com/gpu", "nvidia.com/total-gpumem", "nvidia.com/total-gpucores"}
	quota := []map[string]any{}
	for _, resource := range covered {
		quota = append(quota, map[string]any{"name": resource, "nominalQuota": "1M"})
	}
	for _, create := range []func() error{
		func() error {
			return env.CreateKueue("", "admissionchecks", "AdmissionCheck", "check-fit", check)
		},
		func() error {
			return env.CreateKueue("", "resourceflavors", "ResourceFlavor", "check", map[string]any{})
		},
		func() error {
			return env.CreateKueue("", "clusterqueues", "ClusterQueue", "check", map[string]any{
				"namespaceSelector":       map[string]any{},
				"admissionChecksStrategy": map[string]any{"admissionChecks": []any{map[string]any{"name": "check-fit"}}},
				"resourceGroups": []any{map[string]any{"coveredResources": covered,
					"flavors": []any{map[string]any{"name": "check", "resources": quota}}}}})
		},
		func() error {
			return env.CreateKueue(env.Namespace, "localqueues", "LocalQueue", "check", map[string]any{"clusterQueue": "check"})
		},
	} {
		if err := create(); err != nil {
			return err
		}
	}
	return nil
}

func kueueAdmitsWhatFits(env *harness.Env) (err error) {
	options, err := env.PrintedKueue("scheduler")
	if err != nil {
		return err
	}
	end, err := env.StartKueue(options)
	if end != nil {
		defer func() {
			if gone := end(); err == nil {
				err = gone
			}
		}()
	}
	if err != nil {
		return err
	}
	if err := kueueQueues(env, fitCheck); err != nil {
		return err
	}
	const all = harness.NodeCount * harness.DevicesPerNode
	// The quota is more than there is.
	if err := kueueJob(env, "first", all-4, nil); err != nil {
		return err
	}
	if err := env.WaitCounts("first-", all-4, 0); err != nil {
		return err
	}
	if err := kueueJob(env, "second", 8, nil); err != nil {
		return err
	}
	if err := waitCheck(env, "second", "Retry", "8 pods do not fit together"); err != nil {
		return err
	}
	if bound, waiting, err := env.CountPods("second-"); err != nil || bound+waiting > 0 {
		return fmt.Errorf("a job that is not admitted has %d and %d pods: %v", bound, waiting, err)
	}
	if err := kueueJob(env, "wrong", 1, map[string]string{gangMinKey: "none"}); err != nil {
		return err
	}
	if err := waitCheck(env, "wrong", "Rejected", gangMinKey); err != nil {
		return err
	}
	background := meta.DeletePropagationBackground
	if err := env.Client.BatchV1().Jobs(env.Namespace).Delete(env.Ctx, "first",
		meta.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	none := int64(0)
	if err := env.Client.CoreV1().Pods(env.Namespace).DeleteCollection(env.Ctx,
		meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{LabelSelector: "job-name=first"}); err != nil {
		return err
	}
	if err := env.WaitCounts("second-", 8, 0); err != nil {
		return err
	}
	pods, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{LabelSelector: "job-name=second"})
	if err != nil {
		return err
	}
	for at := range pods.Items {
		if least := pods.Items[at].Annotations[gangMinKey]; least != "8" {
			return fmt.Errorf("pod %s is of a gang of %q pods", pods.Items[at].Name, least)
		}
	}
	// Two devices with 1,000 MiB each are 2,000 MiB of quota; a percentage and a priority are none.
	shares := kueueJobOf("shares", "check", 1, harness.Pod("shares", harness.Container("c", harness.Limits{"nvidia.com/gpu": "2",
		"nvidia.com/gpumem": "1000", "nvidia.com/gpucores": "10", "nvidia.com/priority": "1"})))
	if _, err := env.Client.BatchV1().Jobs(env.Namespace).Create(env.Ctx, shares, meta.CreateOptions{}); err != nil {
		return err
	}
	if err := env.WaitCounts("shares-", 1, 0); err != nil {
		return err
	}
	workload, err := env.KueueWorkloadOf("shares")
	if err != nil {
		return err
	}
	for resource, wanted := range map[string]string{"nvidia.com/gpu": "2", "nvidia.com/total-gpumem": "2k",
		"nvidia.com/total-gpucores": "20"} {
		if used := workload.Status.Admission.PodSetAssignments[0].ResourceUsage[resource]; used != wanted {
			return fmt.Errorf("the job uses %q of the quota of %s, not %s: %+v", used, resource, wanted, workload.Status)
		}
	}
	return env.NoDeviceOverbooked()
}
