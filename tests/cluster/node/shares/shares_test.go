package shares

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestShares(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-share-is-seen-and-enforced",
			Requirement: "one pod, one card: limit seen and enforced through a real kubelet with plain mounts",
			Run:         enforcedByKubelet},
		checks.Check{Name: "kubelet-a-container-that-begins-anew-keeps-its-share",
			Requirement: "a container that is started again has the limit it had; without Divvy the whole card",
			Run:         enforcedAgain},
		checks.Check{Name: "kubelet-nothing-starts-that-was-given-nothing",
			Requirement: "fails closed: a pod with devices and without an assignment does not run, and its events say why",
			Run:         nothingStarts})
}

func enforcedByKubelet(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	const mebibytes = 4096
	if _, err := env.Create(harness.ProbePod("limited", harness.OneShare(fmt.Sprint(mebibytes), "30"))); err != nil {
		return err
	}
	limited, err := env.WaitResult("limited", 0)
	if err != nil {
		return err
	}
	if err := limited.Limited(mebibytes << 20); err != nil {
		return fmt.Errorf("limited: %w", err)
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	if _, err := env.Create(env.UnmanagedPod("bare", record.Build)); err != nil {
		return err
	}
	whole, err := env.WaitResult("bare", 0)
	if err != nil {
		return err
	}
	if whole["total"] < 16*(mebibytes<<20) {
		return fmt.Errorf("without Divvy it sees %d bytes: that is no whole card", whole["total"])
	}
	if err := whole.Exact(whole["total"]); err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	env.Note = fmt.Sprintf("with Divvy %d bytes, without %d", limited["total"], whole["total"])
	return nil
}

// secondTime is what its container says that has been started again.
func secondTime(env *harness.Env, p *core.Pod) (harness.ProbeReport, error) {
	p.Spec.RestartPolicy = core.RestartPolicyAlways
	if _, err := env.Create(p); err != nil {
		return nil, err
	}
	return env.WaitResult(p.Name, 1)
}

func enforcedAgain(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	const mebibytes = 2048
	second, err := secondTime(env, harness.ProbePod("again", harness.OneShare(fmt.Sprint(mebibytes), "30")))
	if err == nil {
		err = second.Limited(mebibytes << 20)
	}
	if err != nil {
		return err
	}
	// What it had is free for others when it is gone.
	if err := env.Delete("again"); err != nil {
		return err
	}
	err = env.WaitFor("its tenant is gone", func() error {
		left, err := env.TenantFolders()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there is %s", strings.Join(left, ", "))
		}
		return err
	})
	if err != nil {
		return err
	}
	return unlimitedAgain(env, mebibytes<<20)
}

// unlimitedAgain is the control: the same program on the same card, of which Divvy does not know.
func unlimitedAgain(env *harness.Env, total uint64) error {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	second, err := secondTime(env, env.UnmanagedPod("bare-again", record.Build))
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if second.Limited(total) == nil {
		return errors.New("control: without Divvy it has that limit, too: nothing is shown")
	}
	env.Note = fmt.Sprintf("when it is started again it has %d bytes, without Divvy %d", total, second["total"])
	return nil
}

func nothingStarts(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	p := harness.ProbePod(env.Namespace, harness.Limits{"nvidia.com/gpu": "1"})
	return env.BypassScheduler(p, "the kubelet is told why not", func(found *core.Pod) error {
		for _, one := range found.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "has no "+harness.AllocatedKey) {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", found.Status.Phase, found.Status.Message)
	})
}
