package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-an-agent-without-rights-does-the-same",
			"an agent of another user, that sees no process of the node and none of the kubelet's folders, takes over " +
				"from root's and gives back to it while a container works: shares hold, are changed, a cheater is found; " +
				"while its helper is away who runs keeps its share and who comes waits",
			helped})
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
func (w *world) withHelper(record nodeRecord, do func() error) (err error) {
	other := record
	other.Helper = true
	if err := w.writeNodeRecord(other); err != nil {
		return err
	}
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	// As it is replaced by an earlier version.
	return errors.Join(w.writeNodeRecord(record), w.agentGives(record.Build))
}

func helped(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	if closed := closedToOthers(filepath.Join(record.Build, "bin", "divvy")); closed != "" {
		return skip{fmt.Errorf("other users cannot pass %s", closed)}
	}
	defer func() {
		if now, _ := w.readNodeRecord(); now.Helper != record.Helper {
			err = errors.Join(err, w.writeNodeRecord(record), w.agentBegins(record.Build))
		}
	}()
	staying := probe("staying", one("3000", "10"))
	staying.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(staying); err != nil {
		return err
	}
	if err := w.runs("staying"); err != nil {
		return err
	}
	if err := w.withHelper(record, func() error { return w.underHelper(record.Build) }); err != nil {
		return err
	}
	if err := w.stillWorks("staying"); err != nil {
		return err
	}
	said, err := w.afterNewAgent("after")
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("root's agent again: %w", err)
	}
	if _, err := w.setDone("staying", "3200Mi"); err != nil {
		return fmt.Errorf("root's agent again: %w", err)
	}
	return w.stillWorks("staying")
}

func (w *world) underHelper(build string) error {
	agent, _ := w.processes.find(agentProcess)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", agent.Pid))
	if err != nil {
		return err
	}
	for _, line := range []string{fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d", agentUser, agentUser, agentUser, agentUser),
		"CapEff:\t0000000000000000"} {
		if !strings.Contains(string(status), line) {
			return fmt.Errorf("the agent's status has no %q", line)
		}
	}
	said, err := w.afterNewAgent("early")
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return err
	}
	if _, err := w.setDone("staying", "3500Mi"); err != nil {
		return err
	}
	if err := w.doctorHasNothingAgainstIt(build); err != nil {
		return err
	}
	if err := w.onlyForTheKubelet(build); err != nil {
		return err
	}
	if err := w.withoutHelper(build); err != nil {
		return fmt.Errorf("its helper is killed: %w", err)
	}
	if err := w.cheatIsFound(build); err != nil {
		return err
	}
	return errors.Join(w.remove("cheat"), w.stillWorks("staying"))
}

// doctorHasNothingAgainstIt: folders that are lent, and are another user's, are as they should be.
func (w *world) doctorHasNothingAgainstIt(build string) error {
	text, _ := exec.Command(filepath.Join(build, "bin", "divvy"), "doctor", "--node", "-v", "--runtime-dir",
		w.path("divvy")).CombinedOutput()
	if !strings.Contains(string(text), w.path("divvy", simulated)) {
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
func (w *world) onlyForTheKubelet(build string) error {
	command := exec.Command(filepath.Join(build, "bin", "divvy"), "run", "--sim", strings.TrimPrefix(simulated, "sim-"),
		"--memory", "1Gi", "--", "true")
	command.Env = append(os.Environ(), "DIVVY_RUNTIME_DIR="+w.path("divvy"))
	text, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "it serves containers of its kubelet only") {
		return fmt.Errorf("divvy run: %w: %s", err, text)
	}
	return nil
}

func (w *world) withoutHelper(build string) error {
	helper, _ := w.processes.find(helperProcess)
	if err := syscall.Kill(helper.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := helper.end(stopBound); err != nil {
		return err
	}
	later := probe("later", one("2000", "10"))
	if _, err := w.create(later); err != nil {
		return err
	}
	// The control: without it nobody knows whose a container is.
	err := w.until("who comes waits", func() error {
		p, err := w.get("later")
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
	if err := w.stillWorks("staying"); err != nil {
		return err
	}
	if err := w.runHelper(simulated, build); err != nil {
		return err
	}
	said, err := w.ended("later", 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err != nil {
		return fmt.Errorf("it is there again: %w", err)
	}
	if p, err := w.get("staying"); err != nil || p.Status.Phase != core.PodRunning {
		return fmt.Errorf("who works is %s, %w", p.Status.Phase, err)
	}
	return nil
}
