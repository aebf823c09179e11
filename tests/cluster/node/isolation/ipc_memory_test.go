package isolation

import (
	"errors"
	"fmt"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestIpcMemory(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-memory-of-another-pod",
			Requirement: "a pod cannot open a neighbour's memory by its IPC name, nor see any of its pages, on the same " +
				"network and card; a container of the same pod opens it",
			Run: memoryIsOnesOwn})
}

func memoryIsOnesOwn(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	return env.WithDevices(harness.SwapCards, append([]string{"--overcommit", "2"}, harness.SwapTurns...),
		func(uuids []string) error {
			return neighboursOn(env, uuids[0])
		})
}

func neighboursOn(env *harness.Env, uuid string) error {
	pair, err := env.StartWorkers(harness.WithSecondContainer(harness.ShareOf("owner", uuid, 200), 100), "swapper")
	if err != nil {
		return err
	}
	owner, sibling := pair[0], pair[1]
	foreign, err := env.StartWorker(harness.ShareOf("foreign", uuid, 200), "swapper")
	if err != nil {
		return err
	}
	for _, h := range []*harness.Worker{owner, sibling, foreign} {
		if err := errors.Join(h.Must("open"), h.Must("fill", 2, harness.SwapBlock)); err != nil {
			return err
		}
	}
	said, err := owner.Request("name", 0)
	if err != nil {
		return err
	}
	if len(said) != 2 || said[0] != "0" {
		return fmt.Errorf("a name for a block: %v", said)
	}
	code, err := foreign.Code("opens", said[1])
	if err == nil && code == 0 {
		err = errors.New("a foreign pod opens a pod's memory by its name")
	}
	if err != nil {
		return err
	}
	// The name is good, and whose it is alone makes the difference.
	if err := sibling.Must("opens", said[1]); err != nil {
		return fmt.Errorf("control: of the same pod: %w", err)
	}
	return errors.Join(pagesApart(env, owner, foreign), owner.VerifyMemory(), foreign.VerifyMemory())
}

// pagesApart: neither has a page of the other one's.
func pagesApart(env *harness.Env, one, other *harness.Worker) error {
	var pages [2]map[string]bool
	for at, h := range []*harness.Worker{one, other} {
		pid, err := h.PID()
		if err != nil {
			return err
		}
		found, err := harness.TenantPagesOf(pid)
		if err != nil {
			return err
		}
		if len(found) != 5 {
			return fmt.Errorf("%s has %d pages: %v", h.Name, len(found), found)
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
