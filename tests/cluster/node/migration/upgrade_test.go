package migration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestUpgrade(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-upgrade-and-its-rollback-are-not-noticed",
			Requirement: "the agent of an earlier build is replaced by this one's, and that by the earlier again, while " +
				"containers of both work: no error, nothing starts again, each is changed by either agent; without what " +
				"an agent leaves behind that is not so",
			Run: upgradedThroughout})
}

// A term is an agent's: from when it takes over until the next one does.
type term struct {
	build string
	name  string
}

// begins makes a pod that works until it may have `until`, and one that says what it sees.
func begins(env *harness.Env, t term, until uint64) error {
	working := harness.ProbePod("working-"+t.name, harness.OneShare("3000", "10"))
	working.Spec.Containers[0].Args = []string{"until", fmt.Sprint(until << 20)}
	if _, err := env.Create(working); err != nil {
		return err
	}
	if err := env.WaitRunning(working.Name); err != nil {
		return err
	}
	probe := "looks-" + t.name
	if _, err := env.Create(harness.ProbePod(probe, harness.OneShare("2000", "10"))); err != nil {
		return err
	}
	said, err := env.WaitResult(probe, 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", probe, err)
	}
	return nil
}

// changes: what began under another agent is given more by this one, sees it and gets it.
func changes(env *harness.Env, name string, until uint64) error {
	if err := env.StillRunning(name); err != nil {
		return err
	}
	said, err := env.SetMemory(name, fmt.Sprintf("%dMi", until))
	if err != nil {
		return fmt.Errorf("%s: %+v: %w", name, said, err)
	}
	seen, err := env.WaitResult(name, 0)
	if err == nil {
		err = seen.Limited(until << 20)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// upgradedWithout is the control: the next agent finds nothing of what began under the one before.
func upgradedWithout(env *harness.Env, build string, until uint64) error {
	if err := env.UpgradeAgent(env.Before); err != nil {
		return err
	}
	p := harness.ProbePod("bereft", harness.OneShare("3000", "10"))
	p.Spec.Containers[0].Args = []string{"until", fmt.Sprint(until << 20)}
	by := harness.Handover{End: func() error { return env.StopProcess(harness.AgentProcess) },
		Begin: func() error { return env.RestartAgent(build) }}
	return env.LosesState(p, by, func() error { return changes(env, p.Name, until) }, "has no share here")
}

func upgradedThroughout(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	if env.Before == "" {
		return harness.Skip{Cause: errors.New("no earlier build is here (--before)")}
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(env.Before, "bin", "divvy")); err != nil {
		return err
	}
	// Where it fails an earlier build's agent may be there, or none.
	defer func() {
		if err != nil {
			err = errors.Join(err, env.RestartAgent(record.Build))
		}
	}()
	const until = 4000
	terms := []term{{env.Before, "earlier"}, {record.Build, "this"}, {env.Before, "rolled-back"}}
	for at, t := range terms {
		if err := env.UpgradeAgent(t.build); err != nil {
			return fmt.Errorf("agent %s: %w", t.name, err)
		}
		if err := begins(env, t, until); err != nil {
			return fmt.Errorf("under agent %s: %w", t.name, err)
		}
		if at == 0 {
			continue
		}
		// Both what the one before began, and what came while it was there.
		if err := changes(env, "working-"+terms[at-1].name, until); err != nil {
			return fmt.Errorf("under agent %s: %w", t.name, err)
		}
	}
	last := "working-" + terms[len(terms)-1].name
	if err := env.UpgradeAgent(record.Build); err != nil {
		return fmt.Errorf("this agent again: %w", err)
	}
	if err := changes(env, last, until); err != nil {
		return err
	}
	if err := upgradedWithout(env, record.Build, until); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	version := "no file of its commit"
	if text, err := os.ReadFile(filepath.Join(env.Before, "commit")); err == nil {
		version = "earlier: " + string(text)
	}
	env.Note = version
	return nil
}
