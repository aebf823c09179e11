package migration

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestTwoPlugins(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-beside-nvidias-plugin",
			Requirement: "while NVIDIA's own plugin serves its name, Divvy's agent does not, says why, and does once that has " +
				"ended; by a name of its own it serves beside it, and who asks by NVIDIA's is not placed there",
			Run: besideNvidias})
}

func besideNvidias(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	if _, err := os.Stat(env.Nvidia); err != nil {
		return err
	}
	record, err := env.StopAgent()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.StopProcess(harness.NvidiaProcess), env.RestartAgent(record.Build)) }()
	if err := nvidiaServes(env, record.Build); err != nil {
		return err
	}
	if err := waitsForNvidias(env, record.Build); err != nil {
		return err
	}
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	if err := nvidiaServes(env, record.Build); err != nil {
		return err
	}
	if err := env.RestartAgentWithOwnName(record.Build); err != nil {
		return err
	}
	return ownNameBeside(env)
}

// waitsForNvidias: whoever registers last is heeded by the kubelet, so that one must not.
func waitsForNvidias(env *harness.Env, build string) error {
	mark := env.AgentLogSize()
	before := env.RegistrationCount()
	if err := env.RunAgent(build); err != nil {
		return err
	}
	for _, name := range []string{"nvidia.com/gpu", harness.OwnResource} {
		if err := env.WaitAgentLog("the resource is not registered until that plugin has ended; "+
			"remove it, or serve other resources than its own resource="+name, mark); err != nil {
			return err
		}
	}
	if now := env.RegistrationCount(); now != before {
		return fmt.Errorf("there were %d registrations, and now %d", before, now)
	}
	if err := env.WaitKubeletCapacity("nvidia.com/gpu", 4); err != nil {
		return err
	}
	if err := env.StopProcess(harness.NvidiaProcess); err != nil {
		return err
	}
	return errors.Join(env.WaitKubeletCapacity("nvidia.com/gpu", 40), env.WaitKubeletCapacity(harness.OwnResource, 40))
}

func ownNameBeside(env *harness.Env) error {
	if err := errors.Join(env.WaitKubeletCapacity(harness.OwnResource, 40), env.WaitKubeletCapacity("nvidia.com/gpu",
		4)); err != nil {
		return err
	}
	if _, err := env.Create(harness.ProbePod("theirs", harness.Limits{"nvidia.com/gpu": "1",
		"nvidia.com/gpumem": "1000"})); err != nil {
		return err
	}
	if _, err := env.Create(harness.ProbePod("ours", harness.Limits{harness.OwnResource: "1",
		"divvy.dev/gpumem": "1000"})); err != nil {
		return err
	}
	said, err := env.WaitResult("ours", 0)
	if err == nil {
		err = said.Limited(1000 << 20)
	}
	if err != nil {
		return err
	}
	_, err = env.WaitRefusedFor("theirs", "models that were not asked for")
	return err
}
