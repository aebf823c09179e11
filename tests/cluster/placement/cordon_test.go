package placement

import (
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestCordon(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "a-cordoned-device-gets-nothing-new-and-is-drained",
			Requirement: "kubectl divvy cordon|drain NODE[/GPU]", Run: drained})
}

const half = "40000" // MiB of a device of 80 GiB

// A pod has half of a device that is cordoned then, another one waits for the other half.
func drained(env *harness.Env) error {
	first, err := leaves(env, "first", "")
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(first)
	if err != nil {
		return err
	}
	node, device := first.Spec.NodeName, shares[0][0].UUID
	where := node + "/" + device
	if no, err := env.RunDivvy(nil, "drain", where); !no || err == nil ||
		!strings.Contains(err.Error(), env.Namespace+"/first: no controller would recreate it") {
		return fmt.Errorf("a pod that nobody makes anew: %v", err)
	}
	if _, err := env.RunDivvy(nil, "cordon", where); err != nil {
		return err
	}
	// Twice is once.
	if _, err := env.RunDivvy(nil, "cordon", where); err != nil {
		return err
	}
	defer env.RunDivvy(nil, "uncordon", where)
	if err := env.WaitCordoned(node, device, true); err != nil {
		return err
	}
	// It would fit there, and asks for that device alone.
	if _, err := env.Create(picky("second", device)); err != nil {
		return err
	}
	why, err := env.WaitRefused("second")
	if err != nil {
		return err
	}
	if _, err := env.Get("first"); err != nil {
		return fmt.Errorf("who was there has gone: %w", err)
	}
	if _, err := env.RunDivvy(nil, "drain", where, "--force", "--timeout", "30s"); err != nil {
		return err
	}
	if held, _, err := env.Allocations(); err != nil || held[device] != 0 {
		return fmt.Errorf("%d still hold %s: %v", held[device], device, err)
	}
	if p, err := env.Get("second"); err != nil || p.Spec.NodeName != "" {
		return fmt.Errorf("it went to a cordoned device: %v", err)
	}
	if _, err := env.RunDivvy(nil, "uncordon", where); err != nil {
		return err
	}
	if err := env.WaitCordoned(node, device, false); err != nil {
		return err
	}
	env.Note = "refused meanwhile: " + why
	_, err = env.WaitBound("second")
	return err
}

// leaves makes a pod that is gone as soon as it is evicted: there is no kubelet.
func leaves(env *harness.Env, name, device string) (*core.Pod, error) {
	if _, err := env.Create(picky(name, device)); err != nil {
		return nil, err
	}
	return env.WaitBound(name)
}

func picky(name, device string) *core.Pod {
	p := harness.Pod(name, harness.Container("c", harness.OneShare(half, "10")))
	at := int64(0)
	p.Spec.TerminationGracePeriodSeconds = &at
	if device != "" {
		p.Annotations = map[string]string{"nvidia.com/use-gpuuuid": device}
	}
	return p
}
