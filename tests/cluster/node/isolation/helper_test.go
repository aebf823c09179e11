package isolation

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestHelper(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-agent-without-rights-does-the-same",
			Requirement: "an agent of another user, that sees no process of the node and none of the kubelet's folders, takes over " +
				"from root's and gives back to it while a container works: shares hold, are changed, a cheater is found; " +
				"while its helper is away who runs keeps its share and who comes waits",
			Run: helped})
}

// closedToOthers names a folder on the way to a file that other users cannot pass.
func closedToOthers(path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o001 == 0 {
			return path
		}
	}
	return ""
}

// withHelper runs `do` under an agent that has no rights, and root's again afterwards.
func withHelper(env *harness.Env, record harness.NodeRecord, do func() error) (err error) {
	other := record
	other.Helper = true
	if err := env.WriteNodeRecord(other); err != nil {
		return err
	}
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	// As it is replaced by an earlier version.
	return errors.Join(env.WriteNodeRecord(record), env.UpgradeAgent(record.Build))
}

func helped(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	if closed := closedToOthers(filepath.Join(record.Build, "bin", "divvy")); closed != "" {
		return harness.Skip{Cause: fmt.Errorf("other users cannot pass %s", closed)}
	}
	defer func() {
		if now, _ := env.ReadNodeRecord(); now.Helper != record.Helper {
			err = errors.Join(err, env.WriteNodeRecord(record), env.RestartAgent(record.Build))
		}
	}()
	staying := harness.ProbePod("staying", harness.OneShare("3000", "10"))
	staying.Spec.Containers[0].Args = []string{"work"}
	if _, err := env.Create(staying); err != nil {
		return err
	}
	if err := env.WaitRunning("staying"); err != nil {
		return err
	}
	if err := withHelper(env, record, func() error { return underHelper(env, record.Build) }); err != nil {
		return err
	}
	if err := env.StillRunning("staying"); err != nil {
		return err
	}
	said, err := env.WaitAdmitted("after")
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("root's agent again: %w", err)
	}
	if _, err := env.SetMemory("staying", "3200Mi"); err != nil {
		return fmt.Errorf("root's agent again: %w", err)
	}
	return env.StillRunning("staying")
}

func underHelper(env *harness.Env, build string) error {
	agent, _ := env.Processes.Find(harness.AgentProcess)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", agent.Pid))
	if err != nil {
		return err
	}
	for _, line := range []string{fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d", harness.AgentUser, harness.AgentUser,
		harness.AgentUser, harness.AgentUser),
		"CapEff:\t0000000000000000"} {
		if !strings.Contains(string(status), line) {
			return fmt.Errorf("the agent's status has no %q", line)
		}
	}
	said, err := env.WaitAdmitted("early")
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	if _, err := env.SetMemory("staying", "3500Mi"); err != nil {
		return err
	}
	if err := doctorHasNothingAgainstIt(env, build); err != nil {
		return err
	}
	if err := onlyForTheKubelet(env, build); err != nil {
		return err
	}
	if err := withoutHelper(env, build); err != nil {
		return fmt.Errorf("its helper is killed: %w", err)
	}
	if err := cheatIsFound(env, build); err != nil {
		return err
	}
	return errors.Join(env.Delete("cheat"), env.StillRunning("staying"))
}

// doctorHasNothingAgainstIt: folders that are lent, and are another user's, are as they should be.
func doctorHasNothingAgainstIt(env *harness.Env, build string) error {
	text, _ := exec.Command(filepath.Join(build, "bin", "divvy"), "doctor", "--node", "-v", "--runtime-dir",
		env.Path("divvy")).CombinedOutput()
	if !strings.Contains(string(text), env.Path("divvy", harness.SimulatedDevices)) {
		return fmt.Errorf("it does not look there: %s", text)
	}
	for _, line := range strings.Split(string(text), "\n") {
		for _, bad := range []string{"written by others", "belongs to user", "helper.sock"} {
			if strings.Contains(line, bad) {
				return fmt.Errorf("divvy doctor: %s", line)
			}
		}
	}
	return nil
}

// onlyForTheKubelet: it could not tell whose the processes of other tenants are.
func onlyForTheKubelet(env *harness.Env, build string) error {
	command := exec.Command(filepath.Join(build, "bin", "divvy"), "run", "--sim",
		strings.TrimPrefix(harness.SimulatedDevices, "sim-"),
		"--memory", "1Gi", "--", "true")
	command.Env = append(os.Environ(), "DIVVY_RUNTIME_DIR="+env.Path("divvy"))
	text, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "it serves containers of its kubelet only") {
		return fmt.Errorf("divvy run: %w: %s", err, text)
	}
	return nil
}

func withoutHelper(env *harness.Env, build string) error {
	helper, _ := env.Processes.Find(harness.HelperProcess)
	if err := syscall.Kill(helper.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := helper.End(harness.StopBound); err != nil {
		return err
	}
	later := harness.ProbePod("later", harness.OneShare("2000", "10"))
	if _, err := env.Create(later); err != nil {
		return err
	}
	// The control: without it nobody knows whose a container is.
	err := env.WaitFor("who comes waits", func() error {
		p, err := env.Get("later")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "helper") {
				return nil
			}
		}
		return fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
	})
	if err != nil {
		return err
	}
	if err := env.StillRunning("staying"); err != nil {
		return err
	}
	if err := env.RunHelper(harness.SimulatedDevices, build); err != nil {
		return err
	}
	said, err := env.WaitResult("later", 0)
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("it is there again: %w", err)
	}
	if p, err := env.Get("staying"); err != nil || p.Status.Phase != core.PodRunning {
		return fmt.Errorf("who works is %s, %w", p.Status.Phase, err)
	}
	return nil
}
