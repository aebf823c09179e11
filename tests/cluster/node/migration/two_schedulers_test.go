package migration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestTwoSchedulers(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-divvys-scheduler-beside-volcanos",
			Requirement: "both schedulers run, and the node is Volcano's: a card of which a pod of Divvy's has something is not offered to " +
				"Volcano until that ends; Divvy's scheduler places nothing there, and a pod that neither placed begins " +
				"nothing; an idle pod of Volcano's is told and evicted by Divvy's; and back, a card that a pod of " +
				"Volcano's has is not offered to Divvy's until that ends",
			Run: besideVolcano})
}

func besideVolcano(env *harness.Env) (err error) {
	record, cards, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	end, err := volcanoBegins(env)
	if end != nil {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	told := &harness.Platform{Extend: 1}
	return env.WithPlatform(told, "4s", func() (err error) {
		defer func() {
			if err != nil {
				err = errors.Join(err, env.DeletePods(), backFromVolcano(env, record.Build))
			}
		}()
		if err := underVolcano(env, record.Build, cards); err != nil {
			return err
		}
		if err := volcanosIdlePod(env, told); err != nil {
			return err
		}
		return underDivvyAgain(env, record.Build, cards)
	})
}

// volcanosPodOn is the card that Volcano gave the pod, which runs.
func volcanosPodOn(env *harness.Env, name string) (string, error) {
	if err := env.WaitRunning(name); err != nil {
		return "", errors.Join(err, errors.New(env.Processes.Tail(volcanoProcess)))
	}
	p, err := env.Get(name)
	if err != nil {
		return "", err
	}
	card, _, _ := strings.Cut(p.Annotations[harness.VolcanoAssigned], ",")
	return card, nil
}

// volcanoCounts: of so many cards, and whether that one is among them.
func volcanoCounts(env *harness.Env, count int, uuid string, there bool) error {
	return env.WaitFor(fmt.Sprintf("Volcano is told of %d cards", count), func() error {
		text, _, err := env.NodeAnnotation(volcanoRegister)
		if err == nil && (strings.Count(text, ":") != count || strings.Contains(text, uuid) != there) {
			err = fmt.Errorf("it is told %q", text)
		}
		return err
	})
}

// underVolcano: a pod of Divvy's was there first, and others of Divvy's come.
func underVolcano(env *harness.Env, build string, cards []string) error {
	ours := harness.ShareOf("ours", cards[0], 2000)
	ours.Spec.Containers[0].Args = []string{"stay"}
	if _, err := env.Create(ours); err != nil {
		return err
	}
	if err := env.WaitRunning("ours"); err != nil {
		return err
	}
	if err := env.RestartAgent(build, "--dialect", "volcano"); err != nil {
		return err
	}
	if err := volcanoCounts(env, len(cards)-1, cards[0], false); err != nil {
		return err
	}
	// More than half of a card each.
	on := map[string]string{}
	for at := range cards {
		name := fmt.Sprintf("theirs-%d", at)
		if err := byVolcano(env, name, vgpu("50000", "10"), "stay"); err != nil {
			return err
		}
		if at == len(cards)-1 {
			break
		}
		card, err := volcanosPodOn(env, name)
		if err != nil {
			return err
		}
		if other, taken := on[card]; taken || card == cards[0] {
			return fmt.Errorf("%s is on %s, as %q", name, card, other)
		}
		on[card] = name
	}
	last := fmt.Sprintf("theirs-%d", len(cards)-1)
	if err := volcanoRefuses(env, last, ""); err != nil {
		return err
	}
	if err := errors.Join(divvyPlacesNothing(env), neitherPlaced(env), env.StillRunning("ours")); err != nil {
		return err
	}
	// The control: it was that pod's card that was missing.
	if err := env.Delete("ours"); err != nil {
		return err
	}
	if err := volcanoCounts(env, len(cards), cards[0], true); err != nil {
		return err
	}
	if card, err := volcanosPodOn(env, last); err != nil || card != cards[0] {
		return errors.Join(err, fmt.Errorf("%s is on %s", last, card))
	}
	return nil
}

// divvyPlacesNothing: there is room on every card, and more than these ask for.
func divvyPlacesNothing(env *harness.Env) error {
	for name, counted := range map[string]string{"waits": "nvidia.com/gpu", "waits-too": "divvy.dev/gpu"} {
		p := harness.ProbePod(name, harness.Limits{counted: "1", "divvy.dev/gpumem": "1000"})
		p.Spec.Containers[0].Args = []string{"stay"}
		if _, err := env.Create(p); err != nil {
			return err
		}
		why, err := env.WaitRefused(name)
		if err != nil {
			return err
		}
		env.Note = fmt.Sprintf("whom Divvy's scheduler does not place is told %q", why)
	}
	return nil
}

// neitherPlaced: the cluster's own scheduler counts devices by the node's status, and knows of no cards.
func neitherPlaced(env *harness.Env) error {
	if _, err := env.Create(harness.ProbePod("nobodys", harness.Limits{volcanoCount: "1"})); err != nil {
		return err
	}
	err := env.WaitFor("its container is not made", func() error {
		p, err := env.Get("nobodys")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "has no "+harness.VolcanoAssigned) {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s on %q: %s", p.Status.Phase, p.Spec.NodeName, harness.UnschedulableMessage(p))
	})
	return errors.Join(err, env.Delete("nobodys"))
}

// volcanosIdlePod: conditions, notices and evictions are of Divvy's scheduler, whoever placed the pod. The others, idle
// for as long, may be for ever.
func volcanosIdlePod(env *harness.Env, told *harness.Platform) error {
	if err := podGroup(env, "idles", 1); err != nil {
		return err
	}
	recorder, err := env.RecordConditions()
	if err != nil {
		return err
	}
	defer recorder.Stop()
	p := harness.WithAnnotations(ofVolcano("idles", "idles", vgpu("2000", "10"), "stay"), "use.divvy.dev/idle-stop",
		harness.IdleStop)
	if _, err := env.Create(p); err != nil {
		return err
	}
	// It is gone some seconds later.
	if err := recorder.WaitCondition(env, "idles", "divvy.dev/Idle", ""); err != nil {
		return err
	}
	err = env.WaitFor("it is evicted", func() error {
		if p, err := env.Get("idles"); err == nil && p.DeletionTimestamp == nil {
			return fmt.Errorf("it is %s; its platform heard %v", p.Status.Phase, told.Of("idles"))
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if notices := strings.Join(told.Of("idles"), " "); notices != "idle-notice idle-due idle-due" {
		return fmt.Errorf("its platform heard: %s", notices)
	}
	if notices := told.Of("theirs-0"); len(notices) > 0 {
		return fmt.Errorf("of one that may be idle the platform heard %v", notices)
	}
	return errors.Join(env.WaitEvents("idles", "Idle", "EvictedIdle"), env.StillRunning("theirs-0"))
}

// underDivvyAgain: pods of Volcano's have all cards; who waits for Divvy's scheduler gets the first that they leave.
func underDivvyAgain(env *harness.Env, build string, cards []string) error {
	if err := backFromVolcano(env, build); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(0); err != nil {
		return err
	}
	for _, name := range []string{"waits", "waits-too"} {
		if _, err := env.WaitRefused(name); err != nil {
			return err
		}
	}
	left := "theirs-1"
	p, err := env.Get(left)
	if err != nil {
		return err
	}
	free, _, _ := strings.Cut(p.Annotations[harness.VolcanoAssigned], ",")
	if err := env.Delete(left); err != nil {
		return err
	}
	for _, name := range []string{"waits", "waits-too"} {
		if err := env.WaitRunning(name); err != nil {
			return err
		}
		if on, err := env.DeviceOf(name); err != nil || on != free {
			return errors.Join(err, fmt.Errorf("%s is on %s, and %s was left", name, on, free))
		}
	}
	for at := range cards {
		if name := fmt.Sprintf("theirs-%d", at); name != left {
			if err := env.StillRunning(name); err != nil {
				return err
			}
		}
	}
	if err := env.DeletePods(); err != nil {
		return err
	}
	return env.WaitHealthyDevices(len(cards))
}
