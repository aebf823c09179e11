package devices

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestMissedFaults(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-a-memory-error-while-no-agent-was-there-is-found-by-the-next",
			Requirement: "double-bit ECC errors on a card between two agents: the next one offers it to nobody from its start, says that " +
				"nobody was there when it happened, and the one after it does not tell it again; who is elsewhere goes on; " +
				"five minutes later it is offered again, and who waited for it gets it; an agent that comes after no error offers all",
			Run: missedErrors})
}

func missedErrors(env *harness.Env) error {
	return onQuickCards(env, func(uuids []string) error { return foundAfterwards(env, uuids[0], uuids[1]) })
}

// As the agent says it, and as `divvy gpus` has it.
const (
	missed        = `reason="2 uncorrected memory errors`
	missedMessage = "Xid 48 while no agent ran, between "
)

func foundAfterwards(env *harness.Env, bad, good string) error {
	_, idCount, err := env.Devices()
	if err != nil {
		return err
	}
	elsewhere := harness.PodOnDevice("elsewhere", good)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(elsewhere); err != nil {
		return err
	}
	// The control: an agent that comes after nothing has happened.
	if err := errors.Join(env.WaitRunning("elsewhere"), quickSuccessor(env), env.WaitHealthyDevices(2)); err != nil {
		return err
	}
	record, err := env.StopAgent()
	if err != nil {
		return err
	}
	// The kubelet makes it without an agent, for it asks for nothing of ours.
	if err := strikes(env, env.UnmanagedPodOn(quickCards, "strikes-unheard", record.Build), "ecc=2"); err != nil {
		return err
	}
	mark := env.AgentLogSize()
	begun := time.Now()
	if err := env.RestartAgentOn(quickCards, record.Build); err != nil {
		return err
	}
	if err := errors.Join(env.WaitHealthyDevices(1), env.WaitAgentLog(missed, mark), env.WaitAgentLog(missedMessage,
		mark)); err != nil {
		return err
	}
	known := time.Since(begun)
	if err := errors.Join(onlyOffered(env, good, idCount/2), outOfService(env, "late", bad)); err != nil {
		return err
	}
	if err := env.WaitHealthyDevices(2); err != nil {
		return err
	}
	quiet := time.Since(begun)
	if quiet < quickQuiet {
		return fmt.Errorf("it was offered again %v after it was found", quiet)
	}
	err = errors.Join(getsIt(env, "late", bad), toldOnce(env), env.StillRunning("elsewhere"))
	env.Note = fmt.Sprintf("found %.1f s after the agent began, offered again %.1f s after that (five minutes are %v here)",
		known.Seconds(), quiet.Seconds(), quickQuiet)
	return err
}

// toldOnce: another agent offers both cards, and has nothing to tell.
func toldOnce(env *harness.Env) error {
	mark := env.AgentLogSize()
	if err := errors.Join(quickSuccessor(env), env.WaitAgentLog("agent is ready ", mark),
		env.WaitHealthyDevices(2)); err != nil {
		return err
	}
	text, err := os.ReadFile(env.Processes.Log(harness.AgentProcess))
	if err == nil && strings.Contains(string(text[min(mark, len(text)):]), "device-fault") {
		err = fmt.Errorf("it tells again: %s", text[mark:])
	}
	return err
}
