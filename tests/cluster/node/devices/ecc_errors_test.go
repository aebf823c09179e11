package devices

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestEccErrors(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-card-with-memory-errors-is-given-again-once-it-is-quiet",
			Requirement: "double-bit ECC errors under a pod: scheduler and kubelet offer the card to nobody within 10 s, whatever agent " +
				"comes next; who is there and who is elsewhere goes on; five minutes after the last of them it is offered " +
				"again, and who waited for it gets it; an Xid that programs cause takes no card away",
			Run: memoryErrors})
}

// Cards of their own: what their clock is told stands in their files.
const quickCards = "sim-a100x2"

// Simulated cards' time is so much faster, and so are the minutes that an agent waits for them; agents inherit it.
const (
	toldSpeed  = "SIMGPU_TIME_SCALE"
	quickSpeed = 15
	quickQuiet = 5 * time.Minute / quickSpeed
)

// onQuickCards is the node with two of them.
func onQuickCards(env *harness.Env, run func(uuids []string) error) (err error) {
	record, _, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	// An agent that was begun before it came to the cards is as quick.
	defer func() {
		if told := os.Getenv(toldSpeed); told != "" {
			err = errors.Join(err, os.Unsetenv(toldSpeed), env.RestartAgent(record.Build))
		}
	}()
	if err := os.Setenv(toldSpeed, fmt.Sprint(quickSpeed)); err != nil {
		return err
	}
	return env.WithDevices(quickCards, nil, func(uuids []string) error {
		// The agent that comes after this one is of the world's speed.
		return errors.Join(run(uuids), os.Unsetenv(toldSpeed))
	})
}

func memoryErrors(env *harness.Env) error {
	return onQuickCards(env, func(uuids []string) error {
		if err := programsFault(env, uuids[1]); err != nil {
			return fmt.Errorf("control: %w", err)
		}
		return faultsAndRecovers(env, uuids[0], uuids[1])
	})
}

// strikes makes the pod that suffers this, and returns when it has ended.
func strikes(env *harness.Env, p *core.Pod, fault string) error {
	c := &p.Spec.Containers[0]
	c.Env = append(c.Env, core.EnvVar{Name: "SIMGPU_FAULTS", Value: fault})
	if _, err := env.Create(p); err != nil {
		return err
	}
	return env.WaitFor(p.Name+" has struck", func() error {
		now, err := env.Get(p.Name)
		if err == nil && now.Status.Phase != core.PodFailed && now.Status.Phase != core.PodSucceeded {
			err = fmt.Errorf("it is %s: %s", now.Status.Phase, harness.UnschedulableMessage(now))
		}
		return err
	})
}

// programsFault: the agent has heard of it, and both cards are offered.
func programsFault(env *harness.Env, uuid string) error {
	if err := strikes(env, harness.PodOnDevice("faulty-program", uuid), "xid=13"); err != nil {
		return err
	}
	err := env.WaitFor("the agent has heard of Xid 13", func() error {
		return xidReported(env, uuid, `xid="13"`)
	})
	if err != nil {
		return err
	}
	if count, err := env.HealthyDeviceCount(); err != nil || count != 2 {
		return errors.Join(err, fmt.Errorf("%d cards are offered", count))
	}
	return nil
}

func xidReported(env *harness.Env, uuid, xid string) error {
	found, err := harness.ScrapeAgent("divvy_device_xid_errors_total")
	if err != nil {
		return err
	}
	for _, line := range found {
		if strings.Contains(line, uuid) && strings.Contains(line, xid) && !strings.HasSuffix(line, " 0") {
			return nil
		}
	}
	return fmt.Errorf("%q", found)
}

// onlyOffered: just this card, by the node's registration, and by what the kubelet counts.
func onlyOffered(env *harness.Env, uuid string, idCount int64) error {
	err := env.WaitFor("the scheduler is told", func() error {
		node, err := env.KubeletNode(env.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		all, err := harness.RegisteredDevices(node)
		if err != nil {
			return err
		}
		if left := harness.HealthyDevices(all); len(left) != 1 || left[0].ID != uuid {
			return fmt.Errorf("healthy are %v", left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return env.WaitFor("the kubelet has said so", func() error { return env.HasDeviceIDs(idCount) })
}

func faultsAndRecovers(env *harness.Env, bad, good string) error {
	_, idCount, err := env.Devices()
	if err != nil {
		return err
	}
	for name, uuid := range map[string]string{"there": bad, "elsewhere": good} {
		p := harness.PodOnDevice(name, uuid)
		p.Spec.Containers[0].Args = []string{"work"}
		if _, err := env.Create(p); err != nil {
			return err
		}
		if err := env.WaitRunning(name); err != nil {
			return err
		}
	}
	if err := strikes(env, harness.PodOnDevice("striker", bad), "ecc=2"); err != nil {
		return err
	}
	struck := time.Now()
	if err := env.WaitHealthyDevices(1); err != nil {
		return err
	}
	known := time.Since(struck)
	// The driver tells of it once: the next agent has it from this one.
	if err := errors.Join(onlyOffered(env, good, idCount/2), quickSuccessor(env), onlyOffered(env, good,
		idCount/2)); err != nil {
		return err
	}
	if err := outOfService(env, "late", bad); err != nil {
		return err
	}
	quiet, err := quietAgain(env, bad)
	if err != nil {
		return err
	}
	err = env.WaitFor("the kubelet counts it again", func() error { return env.HasDeviceIDs(idCount) })
	for _, name := range []string{"there", "elsewhere"} {
		err = errors.Join(err, env.StillRunning(name))
	}
	if err == nil && known > healthBound {
		err = fmt.Errorf("it took %v until it was known", known)
	}
	env.Note = fmt.Sprintf("known after %.1f s, offered again %.1f s after the last one was asked for (five minutes are %v here)",
		known.Seconds(), quiet.Seconds(), quickQuiet)
	return err
}

// quickSuccessor: the agent ends, and its node says that nothing can be had, until another one is there.
func quickSuccessor(env *harness.Env) error {
	record, err := env.StopAgent()
	if err != nil {
		return err
	}
	return env.RestartAgentOn(quickCards, record.Build)
}

// outOfService: who asks for that card waits, and is told why.
func outOfService(env *harness.Env, name, uuid string) error {
	if _, err := env.Create(harness.PodOnDevice(name, uuid)); err != nil {
		return err
	}
	if why, err := env.WaitRefused(name); err != nil || !strings.Contains(why, "out of service") {
		return errors.Join(err, fmt.Errorf("who asks for that card is told %q", why))
	}
	return nil
}

// getsIt: who waited has that card now.
func getsIt(env *harness.Env, name, uuid string) error {
	said, err := env.WaitResult(name, 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	if on, err := env.DeviceOf(name); err != nil || on != uuid {
		return errors.Join(err, fmt.Errorf("who waited is on %s", on))
	}
	return nil
}

// quietAgain: another error, of a program that Divvy does not know, begins the wait anew; who waits gets the card then,
// and how long that took is what it returns. The card is out of service while it comes, but where the machine was slow.
func quietAgain(env *harness.Env, bad string) (time.Duration, error) {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return 0, err
	}
	again := time.Now()
	if err := strikes(env, env.UnmanagedPodOn(quickCards, "strikes-again", record.Build), "ecc=1"); err != nil {
		return 0, err
	}
	// This agent has not heard of the first ones from the driver.
	err = env.WaitFor("the agent has heard of another error", func() error {
		return xidReported(env, bad, `xid="48"`)
	})
	if err == nil {
		err = errors.Join(env.WaitHealthyDevices(1), env.WaitHealthyDevices(2))
	}
	if err != nil {
		return 0, err
	}
	quiet := time.Since(again)
	if quiet < quickQuiet {
		return 0, fmt.Errorf("it was offered again %v after an error", quiet)
	}
	return quiet, getsIt(env, "late", bad)
}
