package isolation

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestLimitBypass(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-cheater-is-evicted",
			Requirement: "a pod that uses a card which it was not given is found within 10 s by what the driver says, and told; " +
				"where the node is only to report it stays, where it is to evict it goes after a notice; who uses " +
				"what he was given is not touched",
			Run: cheaterEvicted})
}

const (
	bypassNotice = 3 * time.Second
)

func cheaterEvicted(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	return env.WithOptions([]string{"--bypass-notice", bypassNotice.String()}, func() error {
		return cheats(env, record.Build)
	})
}

func cheats(env *harness.Env, build string) error {
	honest := harness.ProbePod("honest", harness.OneShare("3000", "10"))
	honest.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(honest); err != nil {
		return err
	}
	if err := env.WaitRunning("honest"); err != nil {
		return err
	}
	if err := cheatIsFound(env, build); err != nil {
		return err
	}
	// The control: a node that only reports evicts nobody, whatever the scheduler's notice is.
	if err := staysFor(env, "cheat", 2*bypassNotice); err != nil {
		return err
	}
	recorder, err := env.RecordConditions()
	if err != nil {
		return err
	}
	defer recorder.Stop()
	if err := env.RestartAgent(build, "--on-bypass", "evict"); err != nil {
		return err
	}
	// It is gone some seconds later.
	if err := recorder.WaitCondition(env, "cheat", "divvy.dev/Bypass", "it is evicted at "); err != nil {
		return err
	}
	err = env.WaitFor("it is evicted", func() error {
		p, err := env.Get("cheat")
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && p.DeletionTimestamp == nil {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
	if err != nil {
		return err
	}
	if condition, err := env.BypassCondition("honest"); err != nil || condition.Type != "" {
		return fmt.Errorf("who uses what it was given is told %+v, %w", condition, err)
	}
	return errors.Join(env.StillRunning("honest"), env.WaitEvents("cheat", "Bypass", "EvictedBypass"))
}

// cheatIsFound makes a pod that uses a card which it was not given, and waits until it is told.
func cheatIsFound(env *harness.Env, build string) error {
	// The driver's own files, mounted by hand: nobody of ours is in it.
	cheat := env.UnmanagedPod("cheat", build)
	cheat.Spec.Containers[0].Args = []string{"contend", "1000000"}
	if _, err := env.Create(cheat); err != nil {
		return err
	}
	if err := env.WaitRunning("cheat"); err != nil {
		return err
	}
	clock := harness.NewStallClock()
	defer clock.Stop()
	if err := env.WaitBypassCondition("cheat", "which is not allocated to it"); err != nil {
		return err
	}
	took := clock.Elapsed()
	env.Note = fmt.Sprintf("found and told after %.1f s", took.Seconds())
	if took > harness.BypassBound {
		return fmt.Errorf("that took %v", took)
	}
	return nil
}

// staysFor: for so long nobody ends it.
func staysFor(env *harness.Env, name string, long time.Duration) error {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		p, err := env.Get(name)
		if err != nil {
			return err
		}
		if p.DeletionTimestamp != nil {
			return errors.New(name + " is evicted by a node that only reports")
		}
	}
	return nil
}
