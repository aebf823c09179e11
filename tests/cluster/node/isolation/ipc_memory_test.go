package main

import (
	"errors"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-memory-of-another-pod",
			"a pod cannot open a neighbour's memory by its IPC name, nor see any of its pages, on the same " +
				"network and card; a container of the same pod opens it",
			memoryIsOnesOwn})
}

// beside adds a second container with a share of its own to the pod, of the same program.
func beside(p *core.Pod, mebibytes int) *core.Pod {
	second := container("beside", one(fmt.Sprint(mebibytes), "10"))
	second.Image, second.ImagePullPolicy = probeImage, core.PullNever
	p.Spec.Containers = append(p.Spec.Containers, second)
	return p
}

// pagesOf are the tenants' files that a process has mounted, by the kernel's word.
func pagesOf(pid int) ([]string, error) {
	mounts, err := mountsOf(pid)
	var found []string
	for _, one := range mounts {
		if strings.HasPrefix(one.point, "/run/divvy/tenant") {
			found = append(found, one.root)
		}
	}
	return found, err
}

func memoryIsOnesOwn(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	return w.onCards(swapCards, append([]string{"--overcommit", "2"}, swapTurns...), func(uuids []string) error {
		return w.neighboursOn(uuids[0])
	})
}

func (w *world) neighboursOn(uuid string) error {
	pair, err := w.hands(beside(shareOf("owner", uuid, 200), 100), "swapper")
	if err != nil {
		return err
	}
	owner, sibling := pair[0], pair[1]
	stranger, err := w.hand(shareOf("stranger", uuid, 200), "swapper")
	if err != nil {
		return err
	}
	for _, h := range []*hand{owner, sibling, stranger} {
		if err := errors.Join(h.must("open"), h.must("fill", 2, swapBlock)); err != nil {
			return err
		}
	}
	said, err := owner.ask("name", 0)
	if err != nil {
		return err
	}
	if len(said) != 2 || said[0] != "0" {
		return fmt.Errorf("a name for a block: %v", said)
	}
	code, err := stranger.code("opens", said[1])
	if err == nil && code == 0 {
		err = errors.New("a stranger opens a pod's memory by its name")
	}
	if err != nil {
		return err
	}
	// The name is good, and whose it is alone makes the difference.
	if err := sibling.must("opens", said[1]); err != nil {
		return fmt.Errorf("control: of the same pod: %w", err)
	}
	return errors.Join(w.pagesApart(owner, stranger), owner.intact(), stranger.intact())
}

// pagesApart: neither has a page of the other one's.
func (w *world) pagesApart(one, other *hand) error {
	var pages [2]map[string]bool
	for at, h := range []*hand{one, other} {
		pid, err := h.pid()
		if err != nil {
			return err
		}
		found, err := pagesOf(pid)
		if err != nil {
			return err
		}
		if len(found) != 5 {
			return fmt.Errorf("%s has %d pages: %v", h.name, len(found), found)
		}
		pages[at] = map[string]bool{}
		for _, page := range found {
			pages[at][page] = true
		}
	}
	for page := range pages[0] {
		if pages[1][page] {
			return fmt.Errorf("both have %s", page)
		}
	}
	return nil
}
