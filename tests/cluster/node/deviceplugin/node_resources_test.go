package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-memory-and-cores-are-announced",
			"the node's status says how much memory and compute its cards have, and kube-scheduler places by it; " +
				"Divvy's places by cards; with --announce-memory none --announce-cores none none of it is there",
			announcedAndGone})
}

const (
	memoryName = "nvidia.com/gpumem"
	coresName  = "nvidia.com/gpucores"
)

func announcedAndGone(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	memory, cores, err := w.cardsHave()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.announcesAgain(record.Build)) }()
	silent := []string{"--announce-memory", "none", "--announce-cores", "none"}
	if err := w.agentBegins(record.Build, silent...); err != nil {
		return err
	}
	// The control: a pod that asks kube-scheduler for it waits where no node says that it is there.
	err = w.nothingAnnounced()
	if err == nil {
		err = w.plainWaits("early", asks{memoryName: "1"}, memoryName)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	want := map[string]int64{memoryName: memory, coresName: cores}
	if err := errors.Join(w.announced(want), w.hasCapacity(want)); err != nil {
		return err
	}
	if err := w.plainComes("early"); err != nil {
		return err
	}
	for name, sum := range want {
		if err := w.plainUpTo(name, sum); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.isLimited("by-divvy"); err != nil {
		return fmt.Errorf("by Divvy's scheduler: %w", err)
	}
	if err := w.agentBegins(record.Build, silent...); err != nil {
		return err
	}
	if err := w.nothingAnnounced(); err != nil {
		return fmt.Errorf("with none: %w", err)
	}
	w.note = fmt.Sprintf("%d MiB and %d %%", memory, cores)
	return w.plainWaits("late", asks{memoryName: "1"}, memoryName)
}

// cardsHave is what the node's healthy cards have together: MiB, and percent.
func (w *world) cardsHave() (memory, cores int64, err error) {
	text, _, err := w.nodeNote("hami.io/node-nvidia-register")
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
func (w *world) hasCapacity(want map[string]int64) error {
	node, err := w.kubeletNode(w.ctx, core.NodeReady)
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
func (w *world) nothingAnnounced() error {
	return w.until("nothing is announced", func() error {
		node, err := w.kubeletNode(w.ctx, core.NodeReady)
		if err != nil {
			return err
		}
		for _, name := range []core.ResourceName{memoryName, coresName} {
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
func (w *world) plain(name string, limits asks) error {
	p := probe(w.plainName(name), limits)
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = pauseImage, []string{"/pause"}
	_, err := w.client.CoreV1().Pods(systemSpace).Create(w.ctx, p, meta.CreateOptions{})
	return err
}

const systemSpace = "kube-system"

func (w *world) plainName(name string) string { return w.space + "-" + name }

func (w *world) plainWaits(name string, limits asks, wanting string) error {
	if err := w.plain(name, limits); err != nil {
		return err
	}
	return w.until("kube-scheduler refuses "+name, func() error {
		p, err := w.client.CoreV1().Pods(systemSpace).Get(w.ctx, w.plainName(name), meta.GetOptions{})
		if err != nil {
			return err
		}
		if p.Spec.NodeName != "" || !strings.Contains(unscheduled(p), "Insufficient "+wanting) {
			return fmt.Errorf("it is on %q: %s", p.Spec.NodeName, unscheduled(p))
		}
		return nil
	})
}

func (w *world) plainComes(name string) error {
	return w.until("kube-scheduler places "+name, func() error {
		p, err := w.client.CoreV1().Pods(systemSpace).Get(w.ctx, w.plainName(name), meta.GetOptions{})
		if err != nil {
			return err
		}
		if p.Spec.SchedulerName == account {
			return errors.New("control: it is for Divvy's scheduler, which places by cards: nothing is shown")
		}
		if p.Spec.NodeName != kubeletNode || p.Status.Phase != core.PodRunning {
			return fmt.Errorf("it is %s on %q: %s%s", p.Status.Phase, p.Spec.NodeName, unscheduled(p), p.Status.Message)
		}
		return nil
	})
}

// plainGone: the kubelet has taken it away, too, and counts what it had no more.
func (w *world) plainGone(name string) error {
	pods := w.client.CoreV1().Pods(systemSpace)
	if err := pods.Delete(w.ctx, w.plainName(name), meta.DeleteOptions{}); isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return w.until(name+" is gone", func() error {
		if p, err := pods.Get(w.ctx, w.plainName(name), meta.GetOptions{}); !isNotFound(err) {
			return errors.Join(err, fmt.Errorf("it is %s", p.Status.Phase))
		}
		return nil
	})
}

// plainUpTo: all that is left of it is had, and one more has to wait until that is given back.
func (w *world) plainUpTo(name string, sum int64) error {
	// "early" has one MiB.
	if err := w.plainGone("early"); err != nil {
		return err
	}
	if err := w.plain("all", asks{name: fmt.Sprint(sum)}); err != nil {
		return err
	}
	if err := w.plainComes("all"); err != nil {
		return err
	}
	if err := w.plainWaits("more", asks{name: "1"}, name); err != nil {
		return err
	}
	if err := w.plainGone("all"); err != nil {
		return err
	}
	if err := w.plainComes("more"); err != nil {
		return err
	}
	return w.plainGone("more")
}

// announcesAgain leaves the node as it was: no pods of the check, and an agent that announces.
func (w *world) announcesAgain(build string) (err error) {
	for _, name := range []string{"early", "all", "more", "late"} {
		err = errors.Join(err, w.plainGone(name))
	}
	return errors.Join(err, w.agentBegins(build))
}
