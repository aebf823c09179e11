package queues

import (
	"errors"
	"fmt"
	"strings"

	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// multiKueue is a manager with workers in which Kueue asks Divvy whether workloads fit.
type multiKueue struct {
	manager *harness.Env
	workers map[string]*harness.Env
	ends    []func() error
}

func (m *multiKueue) end() error {
	var all []error
	for at := len(m.ends) - 1; at >= 0; at-- {
		all = append(all, m.ends[at]())
	}
	return errors.Join(all...)
}

func (m *multiKueue) add(name string) error {
	worker, end, err := m.manager.StartWorkerCluster(name)
	if end != nil {
		m.ends = append(m.ends, end)
	}
	if err != nil {
		return err
	}
	options, err := worker.PrintedKueue("scheduler")
	if err != nil {
		return err
	}
	stop, err := worker.StartKueue(options)
	if stop != nil {
		m.ends = append(m.ends, stop)
	}
	if err != nil {
		return err
	}
	if err := kueueQueues(worker, fitCheck); err != nil {
		return err
	}
	m.workers[name] = worker
	m.ends = append(m.ends, func() error { return m.manager.DisconnectMultiKueue(name) })
	return m.manager.ConnectMultiKueue(name, worker)
}

func startMultiKueue(env *harness.Env, options harness.KueueOptions, names ...string) (*multiKueue, error) {
	m := &multiKueue{manager: env, workers: map[string]*harness.Env{}}
	stop, err := env.StartKueue(options)
	if stop != nil {
		m.ends = append(m.ends, stop)
	}
	if err != nil {
		return m, err
	}
	for _, name := range names {
		if err := m.add(name); err != nil {
			return m, fmt.Errorf("worker %s: %w", name, err)
		}
	}
	if err := env.CreateKueue("", "multikueueconfigs", "MultiKueueConfig", "check", map[string]any{"clusters": names}); err != nil {
		return m, err
	}
	return m, kueueQueues(env, map[string]any{"controllerName": "kueue.x-k8s.io/multikueue",
		"parameters": map[string]any{"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "check"}})
}

// runsIn waits until a job has all its pods on nodes of that worker, and fails if another has pods of it.
func (m *multiKueue) runsIn(name, job string, pods int) error {
	err := m.workers[name].WaitCounts(job+"-", pods, 0)
	if err != nil {
		workload, read := m.workers[name].KueueWorkloadOf(job)
		return fmt.Errorf("%w; its workload there: %+v, %v", err, workload, read)
	}
	for other, worker := range m.workers {
		bound, waiting, err := worker.CountPods(job + "-")
		if err != nil {
			return err
		}
		if other != name && bound+waiting > 0 {
			return fmt.Errorf("job %s has %d pods in worker %s", job, bound+waiting, other)
		}
	}
	return nil
}

// waitRefused waits until the check of a job's workload in that worker is pending, for that reason.
func (m *multiKueue) waitRefused(worker *harness.Env, job, words string) error {
	return worker.WaitFor(job+" does not fit: "+words, func() error {
		workload, err := m.manager.KueueWorkloadOf(job)
		if err != nil {
			return err
		}
		remote, err := worker.KueueWorkloadNamed(workload.Metadata.Name)
		if err != nil {
			return fmt.Errorf("%w; in the manager: %+v", err, workload.Status)
		}
		for _, one := range remote.Status.AdmissionChecks {
			if one.State == "Pending" && strings.Contains(one.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("%+v", remote.Status)
	})
}

func multiKueueFindsRoom(env *harness.Env) (err error) {
	m, err := startMultiKueue(env, harness.KueueOptions{}, "one", "two")
	defer func() { err = errors.Join(err, m.end()) }()
	if err != nil {
		return err
	}
	const all = harness.NodeCount * harness.DevicesPerNode
	one := m.workers["one"]
	for at := range all - 4 {
		if _, err := one.Create(harness.WholeDevicePod(fmt.Sprintf("fill-%d", at))); err != nil {
			return err
		}
	}
	if err := one.WaitCounts("fill-", all-4, 0); err != nil {
		return err
	}
	// The quota of both workers admits all of these.
	const rest = all - 8
	if err := kueueJob(env, "first", 8, nil); err != nil {
		return err
	}
	if err := m.runsIn("two", "first", 8); err != nil {
		return err
	}
	if err := kueueJob(env, "second", rest, nil); err != nil {
		return err
	}
	if err := m.runsIn("two", "second", rest); err != nil {
		return err
	}
	if err := kueueJob(env, "third", 8, nil); err != nil {
		return err
	}
	for name, worker := range m.workers {
		if err := m.waitRefused(worker, "third", "8 pods do not fit together"); err != nil {
			return fmt.Errorf("worker %s: %w", name, err)
		}
	}
	none := int64(0)
	err = one.Client.CoreV1().Pods(one.Namespace).DeleteCollection(env.Ctx, meta.DeleteOptions{GracePeriodSeconds: &none},
		meta.ListOptions{})
	if err != nil {
		return err
	}
	if err := m.runsIn("one", "third", 8); err != nil {
		return err
	}
	return one.NoDeviceOverbooked()
}
