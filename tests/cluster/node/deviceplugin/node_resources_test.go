package deviceplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeResources(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-memory-and-cores-are-announced",
			Requirement: "the node's status says how much memory and compute its cards have, and kube-scheduler places by it; " +
				"Divvy's places by cards; with --announce-memory none --announce-cores none none of it is there",
			Run: announcedAndGone})
}

func announcedAndGone(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	memory, cores, err := cardsHave(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, announcesAgain(env, record.Build)) }()
	silent := []string{"--announce-memory", "none", "--announce-cores", "none"}
	if err := env.RestartAgent(record.Build, silent...); err != nil {
		return err
	}
	// The control: a pod that asks kube-scheduler for it waits where no node says that it is there.
	err = nothingAnnounced(env)
	if err == nil {
		err = plainWaits(env, "early", harness.Limits{harness.MemoryResource: "1"}, harness.MemoryResource)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	want := map[string]int64{harness.MemoryResource: memory, harness.CoresResource: cores}
	if err := errors.Join(env.WaitNodeResources(want), hasCapacity(env, want)); err != nil {
		return err
	}
	if err := plainComes(env, "early"); err != nil {
		return err
	}
	for name, sum := range want {
		if err := plainUpTo(env, name, sum); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := env.CheckLimited("by-divvy"); err != nil {
		return fmt.Errorf("by Divvy's scheduler: %w", err)
	}
	if err := env.RestartAgent(record.Build, silent...); err != nil {
		return err
	}
	if err := nothingAnnounced(env); err != nil {
		return fmt.Errorf("with none: %w", err)
	}
	env.Note = fmt.Sprintf("%d MiB and %d %%", memory, cores)
	return plainWaits(env, "late", harness.Limits{harness.MemoryResource: "1"}, harness.MemoryResource)
}

// cardsHave is what the node's healthy cards have together: MiB, and percent.
func cardsHave(env *harness.Env) (memory, cores int64, err error) {
	text, _, err := env.NodeAnnotation("hami.io/node-nvidia-register")
	if err != nil {
		return 0, 0, err
	}
	var all []struct {
		DevMem, DevCore int64
		Health          bool
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return 0, 0, err
	}
	for _, one := range all {
		if one.Health {
			memory += one.DevMem
			cores += one.DevCore
		}
	}
	if memory == 0 || cores == 0 {
		err = fmt.Errorf("it is registered with %q", text)
	}
	return memory, cores, err
}

// hasCapacity: announced() looks at what is allocatable only.
func hasCapacity(env *harness.Env, want map[string]int64) error {
	node, err := env.KubeletNode(env.Ctx, core.NodeReady)
	if err != nil {
		return err
	}
	for name, amount := range want {
		if has := node.Status.Capacity[core.ResourceName(name)]; has.Value() != amount {
			return fmt.Errorf("its capacity of %s is %s, not %d", name, has.String(), amount)
		}
	}
	return nil
}

// nothingAnnounced: the node's status has none of it. A kubelet that began anew leaves zeros.
func nothingAnnounced(env *harness.Env) error {
	return env.WaitFor("nothing is announced", func() error {
		node, err := env.KubeletNode(env.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		for _, name := range []core.ResourceName{harness.MemoryResource, harness.CoresResource} {
			capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
			if !capacity.IsZero() || !allocatable.IsZero() {
				return fmt.Errorf("it has %s of %s, %s allocatable", capacity.String(), name, allocatable.String())
			}
		}
		return nil
	})
}

// plain is a pod of kube-scheduler's own, where neither our webhook nor our policies look: it asks for what the node
// announces, and for no device.
func plain(env *harness.Env, name string, limits harness.Limits) error {
	p := harness.ProbePod(plainName(env, name), limits)
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = harness.PauseImage, []string{"/pause"}
	_, err := env.Client.CoreV1().Pods(systemSpace).Create(env.Ctx, p, meta.CreateOptions{})
	return err
}

const systemSpace = "kube-system"

func plainName(env *harness.Env, name string) string { return env.Namespace + "-" + name }

func plainWaits(env *harness.Env, name string, limits harness.Limits, wanting string) error {
	if err := plain(env, name, limits); err != nil {
		return err
	}
	return env.WaitFor("kube-scheduler refuses "+name, func() error {
		p, err := env.Client.CoreV1().Pods(systemSpace).Get(env.Ctx, plainName(env, name), meta.GetOptions{})
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" || !strings.Contains(harness.UnschedulableMessage(p), "Insufficient "+wanting) {
			return fmt.Errorf("it is on %q: %s", p.Spec.NodeName, harness.UnschedulableMessage(p))
		}
		return nil
	})
}

func plainComes(env *harness.Env, name string) error {
	return env.WaitFor("kube-scheduler places "+name, func() error {
		p, err := env.Client.CoreV1().Pods(systemSpace).Get(env.Ctx, plainName(env, name), meta.GetOptions{})
		if err != nil {
			return err
		}
		if p.Spec.SchedulerName == harness.SchedulerAccount {
			return errors.New("control: it is for Divvy's scheduler, which places by cards: nothing is shown")
		}
		if p.Spec.NodeName != harness.KubeletNode || p.Status.Phase != core.PodRunning {
			return fmt.Errorf("it is %s on %q: %s%s", p.Status.Phase, p.Spec.NodeName, harness.UnschedulableMessage(p),
				p.Status.Message)
		}
		return nil
	})
}

// plainGone: the kubelet has taken it away, too, and counts what it had no more.
func plainGone(env *harness.Env, name string) error {
	pods := env.Client.CoreV1().Pods(systemSpace)
	if err := pods.Delete(env.Ctx, plainName(env, name), meta.DeleteOptions{}); harness.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return env.WaitFor(name+" is gone", func() error {
		if p, err := pods.Get(env.Ctx, plainName(env, name), meta.GetOptions{}); !harness.IsNotFound(err) {
			return errors.Join(err, fmt.Errorf("it is %s", p.Status.Phase))
		}
		return nil
	})
}

// plainUpTo: all that is left of it is had, and one more has to wait until that is given back.
func plainUpTo(env *harness.Env, name string, sum int64) error {
	// "early" has one MiB.
	if err := plainGone(env, "early"); err != nil {
		return err
	}
	if err := plain(env, "all", harness.Limits{name: fmt.Sprint(sum)}); err != nil {
		return err
	}
	if err := plainComes(env, "all"); err != nil {
		return err
	}
	if err := plainWaits(env, "more", harness.Limits{name: "1"}, name); err != nil {
		return err
	}
	if err := plainGone(env, "all"); err != nil {
		return err
	}
	if err := plainComes(env, "more"); err != nil {
		return err
	}
	return plainGone(env, "more")
}

// announcesAgain leaves the node as it was: no pods of the check, and an agent that announces.
func announcesAgain(env *harness.Env, build string) (err error) {
	for _, name := range []string{"early", "all", "more", "late"} {
		err = errors.Join(err, plainGone(env, name))
	}
	return errors.Join(err, env.RestartAgent(build))
}
