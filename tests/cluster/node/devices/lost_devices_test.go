package devices

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestLostDevices(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-card-that-fell-off-the-bus-is-given-to-nobody",
			Requirement: "Xid 79 under a pod: scheduler and kubelet know within 10 s, who is elsewhere is not disturbed; five minutes after " +
				"it is back on the bus it is offered again, and who waited for it gets it",
			Run: offTheBus})
}

const healthBound = 10 * time.Second

// How often an agent asks its driver.
const lookEvery = 2 * time.Second

func offTheBus(env *harness.Env) error {
	return onQuickCards(env, func(uuids []string) error {
		known, said, err := fallsOff(env, uuids[0], uuids[1])
		if err != nil {
			return err
		}
		back, err := comesBack(env, uuids[0])
		if err == nil {
			err = env.StillRunning("elsewhere")
		}
		env.Note = fmt.Sprintf("known to the scheduler after %.1f s, said by the kubelet after %.1f s; offered again %.1f s "+
			"after its reset (five minutes are %v here)", known.Seconds(), said.Seconds(), back.Seconds(), quickQuiet)
		return err
	})
}

// fallsOff: how long it took until the scheduler knew, and until the kubelet had said so.
func fallsOff(env *harness.Env, bad, good string) (known, said time.Duration, err error) {
	_, idCount, err := env.Devices()
	if err != nil {
		return 0, 0, err
	}
	elsewhere := harness.PodOnDevice("elsewhere", good)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(elsewhere); err != nil {
		return 0, 0, err
	}
	if err := env.WaitRunning("elsewhere"); err != nil {
		return 0, 0, err
	}
	if err := strikes(env, harness.PodOnDevice("striker", bad), "xid=79"); err != nil {
		return 0, 0, err
	}
	clock := harness.NewStallClock()
	defer clock.Stop()
	if err := env.WaitHealthyDevices(1); err != nil {
		return 0, 0, err
	}
	known = clock.Elapsed()
	// A kubelet writes into its node every 10 s; it gives out no such unit from when it is told.
	if err := onlyOffered(env, good, idCount/2); err != nil {
		return 0, 0, err
	}
	said = clock.Elapsed()
	if err := errors.Join(outOfService(env, "late", bad), env.StillRunning("elsewhere")); err != nil {
		return 0, 0, err
	}
	if known > healthBound {
		err = fmt.Errorf("it took %v", known)
	}
	return known, said, err
}

// comesBack: a simulated card on which nobody is any more is on the bus again when somebody comes, as after a reset.
// How long it takes until it is offered again.
func comesBack(env *harness.Env, bad string) (time.Duration, error) {
	// The control: time alone does not bring it back.
	lost := time.Now()
	err := env.WaitFor("five minutes are over", func() error {
		if left := quickQuiet + lookEvery - time.Since(lost); left > 0 {
			return fmt.Errorf("it takes %v more", left)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if count, err := env.HealthyDeviceCount(); err != nil || count != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d cards are offered", count))
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return 0, err
	}
	reset := time.Now()
	if _, err := env.Create(env.UnmanagedPodOn(quickCards, "resets", record.Build)); err != nil {
		return 0, err
	}
	if err := env.WaitHealthyDevices(2); err != nil {
		return 0, err
	}
	back := time.Since(reset)
	// It did not answer when it was looked at last before.
	if back < quickQuiet-lookEvery {
		return 0, fmt.Errorf("it was offered again %v after its reset", back)
	}
	return back, getsIt(env, "late", bad)
}
