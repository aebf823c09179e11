package queues

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nominationsOf returns how many nominations the hub has made.
func nominationsOf(hub *harness.Hub) (float64, error) {
	text, err := hub.Metrics()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "divvy_hub_nominations_total{") {
			continue
		}
		value := 0.0
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &value); err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

// waitAllRun waits until these jobs have all their pods on nodes of one worker each.
func (m *multiKueue) waitAllRun(jobs map[string]int) error {
	return m.manager.WaitFor("all jobs run in one worker each", func() error {
		for job, pods := range jobs {
			total := 0
			for name, worker := range m.workers {
				bound, waiting, err := worker.CountPods(job + "-")
				if err != nil {
					return err
				}
				if waiting > 0 || (bound > 0 && bound != pods) {
					return fmt.Errorf("job %s: %d pods run and %d wait in worker %s", job, bound, waiting, name)
				}
				total += bound
			}
			if total != pods {
				workload, err := m.manager.KueueWorkloadOf(job)
				if err != nil {
					return err
				}
				return fmt.Errorf("job %s: %d of %d pods run; %+v", job, total, pods, workload.Status)
			}
		}
		return nil
	})
}

// waitEvent waits for an Event of that reason with all these words.
func waitEvent(env *harness.Env, reason string, words ...string) error {
	return env.WaitFor(fmt.Sprintf("an Event %s: %q", reason, words), func() error {
		events, err := env.Client.CoreV1().Events(env.Namespace).List(env.Ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		seen := []string{}
		for _, one := range events.Items {
			has := func(word string) bool { return strings.Contains(one.Message, word) }
			if one.Reason == reason && !slices.ContainsFunc(words, func(word string) bool { return !has(word) }) {
				return nil
			}
			seen = append(seen, one.Reason+": "+one.Message)
		}
		return fmt.Errorf("Events: %q", seen)
	})
}

func hubDispatches(env *harness.Env) (err error) {
	options, err := env.PrintedKueue("hub")
	if err != nil {
		return err
	}
	m, err := startMultiKueue(env, options, "one", "two")
	defer func() { err = errors.Join(err, m.end()) }()
	if err != nil {
		return err
	}
	hub, err := env.StartHub(m.workers)
	m.ends = append(m.ends, hub.End)
	if err != nil {
		return err
	}
	// Worker one is first by name, and has no such queue.
	for _, cluster := range []*harness.Env{env, m.workers["two"]} {
		if err := cluster.CreateKueue(cluster.Namespace, "localqueues", "LocalQueue", "only-two",
			map[string]any{"clusterQueue": "check"}); err != nil {
			return err
		}
	}
	if err := kueueJobIn(env, "only-two", "elsewhere", 1, nil); err != nil {
		return err
	}
	if err := m.runsIn("two", "elsewhere", 1); err != nil {
		return err
	}
	if err := waitEvent(env, "ClusterNominated", "one: namespace "+env.Namespace+" has no LocalQueue only-two"); err != nil {
		return err
	}
	before, err := nominationsOf(hub)
	if err != nil {
		return err
	}
	// Most devices of both workers, in jobs of 1 to 4 pods.
	jobs, devices := map[string]int{}, 0
	for devices < 2*harness.NodeCount*harness.DevicesPerNode-8 {
		pods := 1 + len(jobs)%4
		name := fmt.Sprintf("job%d", len(jobs))
		if err := kueueJob(env, name, int32(pods), nil); err != nil {
			return err
		}
		jobs[name] = pods
		devices += pods
	}
	began := time.Now()
	if err := m.waitAllRun(jobs); err != nil {
		return err
	}
	nominations, err := nominationsOf(hub)
	if err != nil {
		return err
	}
	nominations -= before
	env.Note = fmt.Sprintf("%d jobs of %d pods run after %.1f s with %.0f nominations", len(jobs), devices,
		time.Since(began).Seconds(), nominations)
	if nominations != float64(len(jobs)) {
		return fmt.Errorf("%d jobs had %.0f nominations", len(jobs), nominations)
	}
	// More than is left in any worker.
	const large = harness.NodeCount * harness.DevicesPerNode
	if err := kueueJob(env, "large", large, nil); err != nil {
		return err
	}
	if err := waitEvent(env, "NoClusterFits", "one: ", "two: "); err != nil {
		return err
	}
	// All jobs of a worker end.
	background := meta.DeletePropagationBackground
	for job := range jobs {
		workload, err := env.KueueWorkloadOf(job)
		if err != nil {
			return err
		}
		if workload.Status.ClusterName != "two" {
			continue
		}
		if err := env.Client.BatchV1().Jobs(env.Namespace).Delete(env.Ctx, job,
			meta.DeleteOptions{PropagationPolicy: &background}); err != nil {
			return err
		}
	}
	none := int64(0)
	two := m.workers["two"]
	err = two.Client.CoreV1().Pods(two.Namespace).DeleteCollection(env.Ctx, meta.DeleteOptions{GracePeriodSeconds: &none},
		meta.ListOptions{})
	if err != nil {
		return err
	}
	if err := m.runsIn("two", "large", large); err != nil {
		return err
	}
	return errors.Join(m.workers["one"].NoDeviceOverbooked(), two.NoDeviceOverbooked())
}
