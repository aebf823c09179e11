package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-an-upgrade-and-its-rollback-are-not-noticed",
			"the agent of an earlier build is replaced by this one's, and that by the earlier again, while " +
				"containers of both work: no error, nothing starts again, each is changed by either agent; without what " +
				"an agent leaves behind that is not so",
			upgradedThroughout})
}

// agentGives is agentBegins, but the one that is there is asked to go, as an upgrade does it.
func (w *world) agentGives(build string) error {
	if one, known := w.processes.find(agentProcess); known && one.alive() {
		if err := syscall.Kill(one.Pid, syscall.SIGTERM); err != nil {
			return err
		}
		if err := one.end(stopBound); err != nil {
			return err
		}
	}
	return w.agentBegins(build)
}

// A term is an agent's: from when it takes over until the next one does.
type term struct {
	build string
	name  string
}

// begins makes a pod that works until it may have `until`, and one that says what it sees.
func (w *world) begins(t term, until uint64) error {
	working := probe("working-"+t.name, one("3000", "10"))
	working.Spec.Containers[0].Args = []string{"until", fmt.Sprint(until << 20)}
	if _, err := w.create(working); err != nil {
		return err
	}
	if err := w.runs(working.Name); err != nil {
		return err
	}
	look := "looks-" + t.name
	if _, err := w.create(probe(look, one("2000", "10"))); err != nil {
		return err
	}
	said, err := w.ended(look, 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", look, err)
	}
	return nil
}

// stillWorks: nothing of it has been started again.
func (w *world) stillWorks(name string) error {
	p, err := w.get(name)
	if err != nil {
		return err
	}
	if p.Status.Phase != core.PodRunning || len(p.Status.ContainerStatuses) == 0 {
		return fmt.Errorf("%s is %s: %+v", name, p.Status.Phase, p.Status.ContainerStatuses)
	}
	if one := p.Status.ContainerStatuses[0]; one.RestartCount != 0 {
		return fmt.Errorf("%s was started %d times more: %+v", name, one.RestartCount, one.LastTerminationState)
	}
	return nil
}

// changes: what began under another agent is given more by this one, sees it and gets it.
func (w *world) changes(name string, until uint64) error {
	if err := w.stillWorks(name); err != nil {
		return err
	}
	said, err := w.setDone(name, fmt.Sprintf("%dMi", until))
	if err != nil {
		return fmt.Errorf("%s: %+v: %w", name, said, err)
	}
	seen, err := w.ended(name, 0)
	if err == nil {
		err = seen.limited(until << 20)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// upgradedWithout is the control: the next agent finds nothing of what began under the one before.
func (w *world) upgradedWithout(build string, until uint64) error {
	if err := w.agentGives(w.before); err != nil {
		return err
	}
	p := probe("bereft", one("3000", "10"))
	p.Spec.Containers[0].Args = []string{"until", fmt.Sprint(until << 20)}
	by := handover{func() error { return w.endProcess(agentProcess) }, func() error { return w.agentBegins(build) }}
	return w.bereft(p, by, func() error { return w.changes(p.Name, until) }, "has no share here")
}

func upgradedThroughout(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	if w.before == "" {
		return skip{errors.New("no earlier build is here (--before)")}
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(w.before, "bin", "divvy")); err != nil {
		return err
	}
	// Where it fails an earlier build's agent may be there, or none.
	defer func() {
		if err != nil {
			err = errors.Join(err, w.agentBegins(record.Build))
		}
	}()
	const until = 4000
	terms := []term{{w.before, "earlier"}, {record.Build, "this"}, {w.before, "rolled-back"}}
	for at, t := range terms {
		if err := w.agentGives(t.build); err != nil {
			return fmt.Errorf("agent %s: %w", t.name, err)
		}
		if err := w.begins(t, until); err != nil {
			return fmt.Errorf("under agent %s: %w", t.name, err)
		}
		if at == 0 {
			continue
		}
		// Both what the one before began, and what came while it was there.
		if err := w.changes("working-"+terms[at-1].name, until); err != nil {
			return fmt.Errorf("under agent %s: %w", t.name, err)
		}
	}
	last := "working-" + terms[len(terms)-1].name
	if err := w.agentGives(record.Build); err != nil {
		return fmt.Errorf("this agent again: %w", err)
	}
	if err := w.changes(last, until); err != nil {
		return err
	}
	if err := w.upgradedWithout(record.Build, until); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	version := "no file of its commit"
	if text, err := os.ReadFile(filepath.Join(w.before, "commit")); err == nil {
		version = "earlier: " + string(text)
	}
	w.note = version
	return nil
}
