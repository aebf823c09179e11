package deviceplugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBypassVerdict(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-verdict-goes-with-its-pod",
			Requirement: "who is throttled for going around Divvy stays so under the next agent, within 10 s, and is told once; the " +
				"next pod of that name, with the same units of the card, is not judged by it: it has its time and is told " +
				"nothing, until it does the same; what ended while no agent was there is over for the next one",
			Run: verdictGoes})
}

const (
	// A verdict is over by itself after so long without its reason (src/agent/enforcement/limit_bypass.h): what comes
	// later shows nothing.
	verdictLasts = 5 * time.Second
	// Of a throttled tenant's turns, one in a second, some are in it.
	aWhile = 3 * time.Second
)

// One unit for each card: the next pod there has the units of the one before.
var throttles = append([]string{"--on-bypass", "throttle"}, harness.OneDeviceIDEach...)

func verdictGoes(env *harness.Env) (err error) {
	record, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	_, idCount, err := env.Devices()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, env.DeletePods(), env.RestartAgent(record.Build), env.WaitDevices(cards, idCount))
	}()
	if err := env.RestartAgent(record.Build, throttles...); err != nil {
		return err
	}
	judged, ledger, err := judged(env, cards[0], record.Build)
	if err != nil {
		return err
	}
	if err := judgedByTheNext(env, judged, record.Build); err != nil {
		return fmt.Errorf("the next agent: %w", err)
	}
	successor, err := inherits(env, judged, ledger, cards[0], record.Build)
	if err != nil {
		return fmt.Errorf("the next pod: %w", err)
	}
	// The control: of this one it is found, too, once there is something to be found.
	if err := errors.Join(successor[1].Must("open", 1), env.WaitBypassReported()); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := env.ComputesWithinFor(aWhile, successor[0], "then throttled", 0.001, harness.ThrottledShare); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return endsUnseen(env, successor, record.Build)
}

// judged is a pod that goes around Divvy, is told and throttled; and the ledger that it has.
func judged(env *harness.Env, card, build string) ([]*harness.Worker, string, error) {
	workers, err := env.StartHalfManagedPod(card, build)
	if err != nil {
		return nil, "", err
	}
	for _, h := range workers {
		if err := h.Must("open", 1); err != nil {
			return nil, "", err
		}
	}
	if err := env.WaitBypassReported(); err != nil {
		return nil, "", err
	}
	ledger, err := env.TenantFolder("two-faced")
	return workers, ledger, errors.Join(err, env.ComputesWithinFor(aWhile, workers[0], "throttled", 0.001,
		harness.ThrottledShare))
}

// judgedByTheNext: another agent finds the same anew, in time; whoever reads the pod sees no change.
func judgedByTheNext(env *harness.Env, workers []*harness.Worker, build string) error {
	before, err := env.BypassCondition("two-faced")
	if err == nil {
		err = env.RestartAgent(build, throttles...)
	}
	if err != nil {
		return err
	}
	begun := time.Now()
	found := time.Duration(0)
	// As long as it would take the new one to find that it is over.
	for end := begun.Add(harness.BypassBound); found == 0 ||
		time.Since(begun) < found+verdictLasts; time.Sleep(20 * time.Millisecond) {
		now, err := env.BypassCondition("two-faced")
		if err != nil {
			return err
		}
		if now != before {
			return fmt.Errorf("its condition was %+v, and is %+v", before, now)
		}
		said, err := env.Metrics("divvy_tenant_bypass", "two-faced")
		if err != nil {
			return err
		}
		if found == 0 && strings.HasSuffix(strings.Join(said, " "), "} 1") {
			found = time.Since(begun)
		}
		if found == 0 && time.Now().After(end) {
			return fmt.Errorf("after %v it says %q", harness.BypassBound, said)
		}
	}
	env.Note += fmt.Sprintf("found anew %.1f s after the next agent; ", found.Seconds())
	p, err := env.Get("two-faced")
	if err != nil {
		return err
	}
	if told, err := bypassEvents(env, p); err != nil || told != 1 {
		return errors.Join(err, fmt.Errorf("there are %d Events of it", told))
	}
	return env.ComputesWithinFor(aWhile, workers[0], "under it", 0.001, harness.ThrottledShare)
}

// bypassEvents is how often it was told by an Event.
func bypassEvents(env *harness.Env, p *core.Pod) (int, error) {
	all, err := env.Client.CoreV1().Events(env.Namespace).List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return 0, err
	}
	told := 0
	for _, one := range all.Items {
		if one.InvolvedObject.UID == p.UID && one.Reason == "Bypass" {
			told += max(1, int(one.Count))
		}
	}
	return told, nil
}

// inherits: the pod ends, and before that verdict could be over by itself another of its name has its units. One that
// came later shows nothing: it does the same, is judged, and another comes after it.
func inherits(env *harness.Env, before []*harness.Worker, ledger, card, build string) ([]*harness.Worker, error) {
	const tries = 3
	for range tries {
		old, err := env.Get("two-faced")
		if err != nil {
			return nil, err
		}
		successor, came, err := successorOf(env, before, ledger, card, build)
		if err != nil {
			return nil, err
		}
		env.Note += fmt.Sprintf("the next one %.1f s after its end; ", came.Seconds())
		if came < verdictLasts {
			// That is as long as whatever was known of the other one lasts.
			if err := env.ComputesWithin(successor[0], "has", harness.UnthrottledShare, 1); err != nil {
				return nil, err
			}
			return successor, untold(env, "two-faced", string(old.UID))
		}
		if err := errors.Join(successor[1].Must("open", 1), env.WaitBypassReported()); err != nil {
			return nil, err
		}
		before = successor
	}
	return nil, fmt.Errorf("none of %d came before the verdict was over by itself: nothing is shown", tries)
}

// successorOf ends the pod, and makes the next one of its name: how long after its end that came.
func successorOf(env *harness.Env, before []*harness.Worker, ledger, card, build string) ([]*harness.Worker,
	time.Duration, error) {
	if err := errors.Join(before[1].Send("exit"), before[1].Conn.Close(), before[0].Exit(env)); err != nil {
		return nil, 0, err
	}
	// From when it has ended the kubelet gives its units to others.
	ended := time.Now()
	if err := env.Delete("two-faced"); err != nil {
		return nil, 0, err
	}
	successor, err := env.StartHalfManagedPod(card, build)
	if err != nil {
		return nil, 0, err
	}
	came := time.Since(ended)
	if err := successor[0].Must("open", 1); err != nil {
		return nil, 0, err
	}
	if now, err := env.TenantFolder("two-faced"); err != nil || now != ledger {
		return nil, 0, errors.Join(err, fmt.Errorf("it came with %s and not %s: nothing is shown", filepath.Base(now),
			filepath.Base(ledger)))
	}
	return successor, came, nil
}

// untold: nobody says of it that it goes around Divvy, or ever did, nor still of who was called so before.
func untold(env *harness.Env, name, before string) error {
	p, err := env.Get(name)
	if err != nil {
		return err
	}
	if condition, err := env.BypassCondition(name); err != nil || condition.Type != "" {
		return errors.Join(err, fmt.Errorf("it is told %+v", condition))
	}
	note := ""
	err = env.WaitFor("its node says nothing of who was called so before", func() (err error) {
		if note, _, err = env.NodeAnnotation("divvy.dev/bypass"); err == nil && strings.Contains(note, before) {
			err = fmt.Errorf("it says %q", note)
		}
		return err
	})
	if err != nil || strings.Contains(note, string(p.UID)) {
		return errors.Join(err, fmt.Errorf("its node says %q", note))
	}
	events, err := bypassEvents(env, p)
	if err != nil || events > 0 {
		return errors.Join(err, fmt.Errorf("there are %d Events of it", events))
	}
	return env.WaitMetric("divvy_tenant_bypass", name, "} 0")
}

// endsUnseen: its other program ends while there is no agent.
func endsUnseen(env *harness.Env, workers []*harness.Worker, build string) error {
	if err := env.KillProcess(harness.AgentProcess); err != nil {
		return err
	}
	works, cheats := workers[0], workers[1]
	if err := errors.Join(cheats.Send("exit"), cheats.Conn.Close()); err != nil {
		return err
	}
	if err := env.RestartAgent(build, throttles...); err != nil {
		return err
	}
	if err := env.WaitBypassOver("two-faced"); err != nil {
		return err
	}
	return errors.Join(env.ComputesWithinFor(aWhile, works, "when that ended unseen", harness.UnthrottledShare, 1),
		env.WaitMetric("divvy_tenant_bypass", "two-faced", "} 0"), works.Exit(env))
}
