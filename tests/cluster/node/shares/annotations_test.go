package shares

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestAnnotations(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-what-a-pod-says-of-its-share-is-heeded-and-shown",
			Requirement: "native dialect on the node; /metrics of the node names pods: priority, policy, limit and use",
			Run:         wordsHeeded},
		checks.Check{Name: "kubelet-words-that-no-node-can-heed-start-nothing",
			Requirement: "bad input: what a node cannot do is said in the pod's events, and nothing runs without it",
			Run:         wordsRefused})
}

func staying(env *harness.Env, name string, words map[string]string) error {
	p := harness.ProbePod(name, harness.OneShare("3000", "10"))
	p.Annotations = words
	p.Spec.Containers[0].Args = []string{"stay"}
	_, err := env.Create(p)
	return err
}

func runsWith(env *harness.Env, name string, words map[string]string) error {
	if err := staying(env, name, words); err != nil {
		return err
	}
	return env.WaitRunning(name)
}

func wordsHeeded(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	// The control: who says nothing has what holds for all.
	if err := runsWith(env, "silent", nil); err != nil {
		return err
	}
	// From here on the other one has the gaps that it leaves.
	err := runsWith(env, "wordy", map[string]string{"use.divvy.dev/priority": "low",
		"probe.use.divvy.dev/priority": "high"})
	if err != nil {
		return err
	}
	return errors.Join(
		env.WaitMetric("divvy_tenant_info", "wordy", `priority="high"`, `mode="latency"`),
		env.WaitMetric("divvy_tenant_info", "silent", `priority="normal"`, `mode="best-effort"`),
		env.WaitMetric("divvy_tenant_memory_limit_bytes", "wordy", fmt.Sprintf("} %d", 3000<<20)))
}

func wordsRefused(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	if err := staying(env, "demanding", map[string]string{"use.divvy.dev/enforce": "mps"}); err != nil {
		return err
	}
	return env.WaitFor("the kubelet is told why not", func() error {
		p, err := env.Get("demanding")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			waits := one.State.Waiting
			if waits != nil && strings.Contains(waits.Message, "use.divvy.dev/enforce") {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", p.Status.Phase, harness.UnschedulableMessage(p))
	})
}
