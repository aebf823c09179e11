package deviceplugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestAgentRestart(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-twenty-agents-are-not-missed",
			Requirement: "20 agents are killed one after the other: who runs sees no error, who comes gets a share; without what " +
				"an agent leaves behind, and without a next one, that is not so",
			Run: enforcedThroughout},
		checks.Check{Name: "kubelet-neither-it-nor-the-agent-is-missed",
			Requirement: "agent and kubelet are killed and begin anew: who runs sees no error, goes on with its work and keeps its " +
				"share, who comes gets one; without what an agent leaves behind, and without a next one, that is not so",
			Run: enforcedAnew})
}

func enforcedAnew(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agentIsThere(env, record.Build)) }()
	staying := harness.ProbePod("staying", harness.OneShare("3000", "10"))
	staying.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(staying); err != nil {
		return err
	}
	if err := env.WaitRunning("staying"); err != nil {
		return err
	}
	for at, begin := range map[string]func() error{
		"kubelet": env.RunKubelet, harness.AgentProcess: func() error { return env.RunAgent(record.Build) }} {
		before := env.RegistrationCount()
		if err := env.KillProcess(at); err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		// A kubelet that has no healthy device of a kind turns away for ever who asks for one.
		err := env.WaitFor("the kubelet knows the agent again", func() error {
			if env.RegistrationCount() == before {
				return errors.New(env.Processes.Tail(harness.AgentProcess))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := env.Create(harness.ProbePod("after-"+at, harness.OneShare("2000", "10"))); err != nil {
			return err
		}
		said, err := env.WaitResult("after-"+at, 0)
		if err == nil {
			err = said.Limited(2000 << 20)
		}
		if err == nil {
			err = env.StillEnforced("staying", 3000)
		}
		if err != nil {
			return fmt.Errorf("after %s: %w", at, err)
		}
	}
	if err := errors.Join(env.StillEnforced("staying", 3000), env.CheckStallIsSeen("staying")); err != nil {
		return err
	}
	return unsucceeded(env, record.Build, "staying", 3000)
}

// agentIsThere: whoever comes next finds one.
func agentIsThere(env *harness.Env, build string) error {
	if one, known := env.Processes.Find(harness.AgentProcess); known && one.Alive() {
		return nil
	}
	return env.RestartAgent(build)
}

func enforcedThroughout(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agentIsThere(env, record.Build)) }()
	working := harness.ProbePod("working", harness.OneShare("3000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(working); err != nil {
		return err
	}
	if err := env.WaitRunning("working"); err != nil {
		return err
	}
	agents, early := 20, 0
	if env.Kills > 0 {
		agents = env.Kills
	}
	for at := 0; at < agents; at++ {
		if err := env.RestartAgent(record.Build); err != nil {
			return fmt.Errorf("agent %d: %w", at, err)
		}
		// Not after each: what comes takes longer than what begins anew.
		if at%5 != 0 {
			continue
		}
		name := fmt.Sprintf("after-%d", at)
		said, err := env.WaitAdmitted(name)
		if err != nil && strings.Contains(err.Error(), tooEarly) {
			early++
			said, err = env.WaitAdmitted(name + "-again")
		}
		if err == nil {
			err = said.Limited(2000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := env.StillEnforced("working", 3000); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%d agents; who works has not been started again", agents)
	if early > 0 {
		env.Note += fmt.Sprintf("; %d pods were turned away by the kubelet before it had heard of the devices again", early)
	}
	return unsucceeded(env, record.Build, "working", 3000)
}

// Between a plugin's registration and its first list of devices, some milliseconds, the kubelet has none
// that are well, and turns pods away for good: whoever made them makes others.
const tooEarly = "UnexpectedAdmissionError"

// unsucceeded is the control: while there is no agent who comes is turned away, and where the next one finds nothing
// of who was there that keeps nothing. Who `stays` is not concerned.
func unsucceeded(env *harness.Env, build, stays string, mebibytes int) error {
	p := harness.ProbePod("bereft", harness.OneShare(fmt.Sprint(mebibytes), "10"))
	p.Spec.Containers[0].Args = []string{"work"}
	by := harness.Handover{End: func() error { return turnedAway(env) },
		Begin: func() error { return env.RestartAgent(build) }}
	err := env.LosesState(p, by, func() error { return env.StillEnforced(p.Name, mebibytes) },
		"the agent holds bereft to []")
	if err == nil {
		err = env.StillEnforced(stays, mebibytes)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}
