package queues

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestQueues(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-queue's-limit-holds-and-says-so",
			Requirement: "queues: a limit holds, pods wait with a reason and start when room comes", Run: queueLimit},
		checks.Check{Name: "what-a-queue-does-not-use-is-lent",
			Requirement: "queues: guarantee and borrowing; who does not borrow waits", Run: queueBorrowing},
		checks.Check{Name: "nobody-takes-a-gate-away-himself",
			Requirement: "a tenant with patch rights cannot pass the queue", Run: gateIsGuarded},
		checks.Check{Name: "kueue's-gate-is-honoured", Requirement: "Kueue's own gate is honoured", Run: othersGate},
	)
}

func queueLimit(env *harness.Env) error {
	name := "limited-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{Namespaces: []string{env.Namespace},
		Limit: harness.DeviceAmount(2)})
	if err != nil {
		return err
	}
	defer away()
	// It is the namespace's: nobody names it. Until the webhook has heard of it pods pass.
	err = env.WaitFor("the webhook knows the queue", func() error {
		tried, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, harness.WholeDevicePod("tried"),
			meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil && tried.Annotations[harness.QueueKey] != name {
			err = fmt.Errorf("a pod is of queue %q", tried.Annotations[harness.QueueKey])
		}
		return err
	})
	if err != nil {
		return err
	}
	for at := 0; at < 4; at++ {
		if _, err := env.Create(harness.WholeDevicePod(fmt.Sprintf("p%d", at))); err != nil {
			return err
		}
	}
	if err := env.WaitCounts("p", 2, 2); err != nil {
		return err
	}
	if err := env.WaitQueuePending(name, 2, "left of the limit of queue "+name); err != nil {
		return err
	}
	pods, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range pods.Items {
		if pods.Items[at].Spec.NodeName == "" {
			continue
		}
		if err := env.Delete(pods.Items[at].Name); err != nil {
			return err
		}
		break
	}
	began := time.Now()
	if err := env.WaitCounts("p", 2, 1); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("the next is bound %.0f ms after one was deleted",
		float64(time.Since(began).Microseconds())/1000)
	if err := env.WaitQueuePending(name, 1, "left of the limit"); err != nil {
		return err
	}
	return env.WaitFor("the queue says what is used of it", func() error {
		status, err := env.QueueStatus(name)
		if err == nil && (status.Running != 2 || len(status.Used) != 1 || *status.Used[0].GpuMilli != 2000) {
			err = fmt.Errorf("it says %+v", status)
		}
		return err
	})
}

func queueBorrowing(env *harness.Env) error {
	lender, borrower := "lender-"+env.Namespace, "borrower-"+env.Namespace
	no := false
	for name, spec := range map[string]harness.QueueSpec{
		lender:   {Guarantee: harness.DeviceAmount(1), Borrowing: &no},
		borrower: {Guarantee: harness.DeviceAmount(1)},
	} {
		away, err := env.CreateQueue(name, spec)
		if err != nil {
			return err
		}
		defer away()
	}
	for at := 0; at < 3; at++ {
		for prefix, queue := range map[string]string{"l": lender, "b": borrower} {
			made := harness.WithAnnotations(harness.WholeDevicePod(fmt.Sprintf("%s%d", prefix, at)), harness.QueueKey, queue)
			if _, err := env.Create(made); err != nil {
				return err
			}
		}
	}
	if err := env.WaitCounts("b", 3, 0); err != nil {
		return err
	}
	if err := env.WaitCounts("l", 1, 2); err != nil {
		return err
	}
	return env.WaitQueuePending(lender, 2, "which does not borrow")
}

func gateIsGuarded(env *harness.Env) error {
	tenant, err := env.TenantClient()
	if err != nil {
		return err
	}
	name := "closed-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{Limit: harness.DeviceAmount(0)})
	if err != nil {
		return err
	}
	defer away()
	if _, err := env.Create(harness.WithAnnotations(harness.WholeDevicePod("p"), harness.QueueKey, name)); err != nil {
		return err
	}
	if err := env.WaitQueuePending(name, 1, "limit of queue "+name); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + harness.QueueGate + `"}]}}`)
	return env.WaitFor("the gate stays", func() error {
		_, err := tenant.CoreV1().Pods(env.Namespace).Patch(env.Ctx, "p", types.StrategicMergePatchType,
			patch, meta.PatchOptions{DryRun: []string{meta.DryRunAll}})
		if err == nil {
			return fmt.Errorf("the gate could be taken away")
		}
		if !strings.Contains(err.Error(), harness.QueueGate) {
			return err
		}
		return nil
	})
}

func othersGate(env *harness.Env) error {
	name := "open-" + env.Namespace
	away, err := env.CreateQueue(name, harness.QueueSpec{})
	if err != nil {
		return err
	}
	defer away()
	const theirs = "kueue.x-k8s.io/admission"
	made := harness.WithAnnotations(harness.WholeDevicePod("p"), harness.QueueKey, name)
	made.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: theirs}}
	if _, err := env.Create(made); err != nil {
		return err
	}
	if err := env.WaitQueuePending(name, 1, theirs); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + theirs + `"}]}}`)
	_, err = env.Client.CoreV1().Pods(env.Namespace).Patch(env.Ctx, "p", types.StrategicMergePatchType, patch,
		meta.PatchOptions{})
	if err != nil {
		return err
	}
	_, err = env.WaitBound("p")
	return err
}
