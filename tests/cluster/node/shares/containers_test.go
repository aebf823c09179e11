package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-two-containers-are-changed-live",
			"divvy set pod/NS/NAME -c CONTAINER changes that one of two and not the other, seen inside both; who names " +
				"none, and who asks for more than the namespace may have, is refused with the reason; without the quota " +
				"he has it",
			oneOfTwoChanged})
}

// The two containers of a pod, by their hands.
const (
	mainContainer = "main"
	sideContainer = "side"
	eachHas       = 3000 // MiB, before
	mainGets      = 5000
	mainWants     = 7000 // with what the other has more than the namespace may
	spaceMay      = 9000
)

// A duo are both containers of one pod, on one card.
type duo struct {
	pod   string
	hands [2]*hand
}

func (w *world) duo(name, card string) (*duo, error) {
	p := shareOf(name, card, eachHas)
	p.Spec.Containers[0].Name = mainContainer
	side := *p.Spec.Containers[0].DeepCopy()
	side.Name = sideContainer
	p.Spec.Containers = append(p.Spec.Containers, side)
	hands, err := w.hands(p, "busy")
	if err != nil {
		return nil, err
	}
	both := &duo{name, [2]*hand{hands[0], hands[1]}}
	for _, h := range both.hands {
		if err := h.must("open", 1); err != nil {
			return nil, err
		}
	}
	return both, nil
}

// allots: inside, so many MiB more are had, or are too many.
func (d *duo) allots(at, mebibytes int, had bool) error {
	code, err := d.hands[at].code("alloc", mebibytes<<20)
	if err != nil {
		return err
	}
	if (code == 0) != had || (!had && code != outOfMemory) {
		return fmt.Errorf("container %d asked for %d MiB more, and is told %d", at, mebibytes, code)
	}
	return nil
}

// computes: while both do, main has that part of what they get.
func (d *duo) computes(w *world, least, most float64) error {
	part, err := w.partWithin(d.hands, least, most)
	if err != nil {
		err = fmt.Errorf("%s: %w", mainContainer, err)
	}
	w.note += fmt.Sprintf("%s %.1f %%; ", mainContainer, 100*part)
	return err
}

// around is what is measured where that part is due.
func around(part float64) (least, most float64) {
	return math.Max(0, part-0.05), math.Min(1, part+0.05)
}

// toldOfBoth: what the agent says of each container of the pod.
func (w *world) toldOfBoth(pod, family, ofMain, ofSide string) error {
	return w.until(family+" of both", func() error {
		all, err := scraped(family)
		if err != nil {
			return err
		}
		for container, words := range map[string]string{mainContainer: ofMain, sideContainer: ofSide} {
			whose := fmt.Sprintf(`namespace="%s",pod="%s",container="%s"`, w.space, pod, container)
			found := ""
			for _, line := range all {
				if strings.Contains(line, whose) {
					found = line
				}
			}
			if !strings.Contains(found, words) {
				return fmt.Errorf("of %s it says %q, and not %s", container, found, words)
			}
		}
		return nil
	})
}

func oneOfTwoChanged(w *world) error {
	_, cards, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	both, err := w.duo("pair", cards[0])
	if err != nil {
		return err
	}
	least, most := around(0.5)
	if err := both.computes(w, least, most); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	for at := range both.hands {
		if err := both.allots(at, 3500, false); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	if err := w.mustNameOne(both); err != nil {
		return err
	}
	if err := w.mainIsChanged(both); err != nil {
		return err
	}
	if err := w.beyondQuota(both); err != nil {
		return err
	}
	if err := w.stillWorks("pair"); err != nil {
		return err
	}
	return both.end(w)
}

// end has both containers end: the pod has ended when they have.
func (d *duo) end(w *world) error {
	side := d.hands[1]
	return errors.Join(side.tell("exit"), side.conn.Close(), d.hands[0].end(w))
}

// mustNameOne: whose share is meant is not guessed.
func (w *world) mustNameOne(both *duo) error {
	_, no, err := w.set(both.pod, "--memory", "4000Mi")
	words := fmt.Sprintf("which container; accepted: -c with one of %s, %s", mainContainer, sideContainer)
	if err == nil || no || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("no container is named: %w", errors.Join(err, errors.New("that is not refused with "+words)))
	}
	return w.toldOfBoth(both.pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(eachHas), mebibytesOf(eachHas))
}

func mebibytesOf(count int) string { return fmt.Sprintf("} %d", count<<20) }

// mainIsChanged: its memory and cores, and then its priority; the other has what it had.
func (w *world) mainIsChanged(both *duo) error {
	said, no, err := w.set(both.pod, "-c", mainContainer, "--memory", fmt.Sprintf("%dMi", mainGets), "--cores", "40")
	if err != nil || no || said.Phase != "done" || said.Container != mainContainer || len(said.Devices) != 1 ||
		said.Devices[0].MemoryMiB != mainGets || said.Devices[0].Cores != 40 {
		return fmt.Errorf("set: %+v: %w", said, err)
	}
	if err := errors.Join(both.allots(0, 3500, true), both.allots(1, 3500, false)); err != nil {
		return fmt.Errorf("more memory: %w", err)
	}
	// 40 to 10.
	least, most := around(0.8)
	if err := both.computes(w, least, most); err != nil {
		return fmt.Errorf("more cores: %w", err)
	}
	said, no, err = w.set(both.pod, "-c", mainContainer, "--priority", "high")
	if err != nil || no || said.Phase != "done" {
		return fmt.Errorf("set --priority: %+v: %w", said, err)
	}
	// The other one has what it leaves.
	if err := both.computes(w, 0.85, 1); err != nil {
		return fmt.Errorf("higher priority: %w", err)
	}
	p, err := w.get(both.pod)
	if err != nil {
		return err
	}
	if p.Annotations[mainContainer+".use.divvy.dev/priority"] != "high" || p.Annotations["use.divvy.dev/priority"] != "" ||
		p.Annotations[sideContainer+".use.divvy.dev/priority"] != "" {
		return fmt.Errorf("containers that begin anew would be told %v", p.Annotations)
	}
	if err := w.hasShares(both.pod, mainGets, eachHas); err != nil {
		return err
	}
	return errors.Join(
		w.toldOfBoth(both.pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(mainGets), mebibytesOf(eachHas)),
		w.toldOfBoth(both.pod, "divvy_tenant_compute_asked_ratio", "} 0.4", "} 0.1"),
		w.toldOfBoth(both.pod, "divvy_tenant_info", `priority="high"`, `priority="normal"`))
}

// hasShares: what stands in the pod's assignment.
func (w *world) hasShares(name string, mebibytes ...int) error {
	p, err := w.get(name)
	if err != nil {
		return err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return err
	}
	var found []string
	for _, list := range shares {
		for _, one := range list {
			found = append(found, one.memory)
		}
	}
	if want := strings.Trim(fmt.Sprint(mebibytes), "[]"); strings.Join(found, " ") != want {
		return fmt.Errorf("%s has %v MiB, and not %s", name, found, want)
	}
	return nil
}

// beyondQuota: nothing is changed. The control: it is the quota that does not let it.
func (w *world) beyondQuota(both *duo) error {
	if err := w.spaceMayHave(spaceMay); err != nil {
		return err
	}
	more := []string{"-c", mainContainer, "--memory", fmt.Sprintf("%dMi", mainWants)}
	said, no, err := w.set(both.pod, more...)
	if err != nil || !no || said.Phase != "refused" || said.Reason != "NoRoom" ||
		!strings.Contains(said.Message, "ResourceQuotaNotFit") || len(said.Devices) != 1 ||
		said.Devices[0].MemoryMiB != mainGets {
		return fmt.Errorf("beyond the quota: %+v: %w", said, err)
	}
	w.note += "refused: " + said.Message
	// It has 3500 MiB of its 5000 already.
	if err := errors.Join(w.hasShares(both.pod, mainGets, eachHas), both.allots(0, 2000, false),
		w.toldOfBoth(both.pod, "divvy_tenant_memory_limit_bytes", mebibytesOf(mainGets), mebibytesOf(eachHas))); err != nil {
		return fmt.Errorf("beyond the quota: %w", err)
	}
	if err := w.client.CoreV1().ResourceQuotas(w.space).Delete(w.ctx, "devices", meta.DeleteOptions{}); err != nil {
		return err
	}
	// The scheduler hears of that by its watch.
	err = w.until("without the quota it is changed", func() error {
		said, no, err := w.set(both.pod, more...)
		if err == nil && (no || said.Phase != "done") {
			err = fmt.Errorf("%+v", said)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return errors.Join(w.hasShares(both.pod, mainWants, eachHas), both.allots(0, 2000, true),
		both.allots(1, 3500, false))
}

// spaceMayHave gives the namespace a quota of so many MiB, and waits until the scheduler knows it.
func (w *world) spaceMayHave(mebibytes int) error {
	made := &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "devices"},
		Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{
			"limits.nvidia.com/gpumem": resource.MustParse(fmt.Sprint(mebibytes))}}}
	if _, err := w.client.CoreV1().ResourceQuotas(w.space).Create(w.ctx, made, meta.CreateOptions{}); err != nil {
		return err
	}
	never := pod("never", container("c", one(fmt.Sprint(mebibytes+1), "10")))
	return w.until("the quota is known", func() error {
		_, err := w.client.CoreV1().Pods(w.space).Create(w.ctx, never, meta.CreateOptions{DryRun: onlyTried})
		if err == nil {
			return errors.New("who asks for more than that is admitted")
		}
		if !strings.Contains(err.Error(), "exceeding resource quota devices") {
			return err
		}
		return nil
	})
}
