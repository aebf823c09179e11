package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"
)

// firstKnown: agents serve devices by several names, this one first. An agent of the commit before logs no field.
var firstKnown = regexp.MustCompile(`the kubelet knows (?:the resource resource=)?(nvidia\.com/gpu|volcano\.sh/vgpu-number)\n`)

// RegistrationCount is how often agents said that the kubelet knows them.
func (env *Env) RegistrationCount() int {
	text, err := os.ReadFile(env.Processes.Log(AgentProcess))
	if err != nil {
		return 0
	}
	return len(firstKnown.FindAllString(string(text), -1))
}

// KillProcess: the process is gone, and was not asked.
func (env *Env) KillProcess(name string) error {
	one, known := env.Processes.Find(name)
	if !known || !one.Alive() {
		return nil
	}
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	return one.End(StopBound)
}

// RestartAgent kills the agent that is there, begins another with more options, and waits until the kubelet knows it.
func (env *Env) RestartAgent(build string, options ...string) error {
	return env.RestartAgentOn(SimulatedDevices, build, options...)
}

func (env *Env) RestartAgentOn(cards, build string, options ...string) error {
	before := env.RegistrationCount()
	if err := env.KillProcess(AgentProcess); err != nil {
		return err
	}
	if err := env.runAgentOn(cards, build, options...); err != nil {
		return err
	}
	return env.WaitFor("the kubelet knows the agent again", func() error {
		if env.RegistrationCount() == before {
			return errors.New(env.Processes.Tail(AgentProcess))
		}
		return nil
	})
}

func (env *Env) WaitAdmitted(name string) (ProbeReport, error) {
	if _, err := env.Create(ProbePod(name, OneShare("2000", "10"))); err != nil {
		return nil, err
	}
	return env.WaitResult(name, 0)
}

// StillEnforced: it works on, and the agent that is there holds it to what it was given.
func (env *Env) StillEnforced(name string, mebibytes int) error {
	if err := errors.Join(env.StillRunning(name), env.progresses(name)); err != nil {
		return err
	}
	found, err := env.Metrics("divvy_tenant_memory_limit_bytes", name)
	if err == nil && (len(found) != 1 || !strings.HasSuffix(found[0], fmt.Sprintf("} %d", mebibytes<<20))) {
		err = fmt.Errorf("the agent holds %s to %q", name, found)
	}
	return err
}

// TenantFolders are the folders that an agent leaves behind of pods: one for each container with a share.
func (env *Env) TenantFolders() ([]string, error) {
	return filepath.Glob(env.Path("divvy", SimulatedDevices, "tenants", "pod-*"))
}

var TenantOfMetric = regexp.MustCompile(`\btenant="([^"/]+)"`)

// TenantFolder is that of the pod, by what the agent calls it.
func (env *Env) TenantFolder(name string) (string, error) {
	found, err := env.Metrics("divvy_tenant_memory_limit_bytes", name)
	if err != nil {
		return "", err
	}
	words := TenantOfMetric.FindStringSubmatch(strings.Join(found, " "))
	if len(found) != 1 || words == nil {
		return "", fmt.Errorf("of %s the agent says %q", name, found)
	}
	return env.Path("divvy", SimulatedDevices, "tenants", words[1]), nil
}

// A Handover is how one agent follows another: how the first ends, and how the next begins.
type Handover struct{ End, Begin func() error }

// LosesState is the control: the pod works, and between two agents what the first one left behind of it is taken away.
// `kept` fails then, with these words; and the pod's container does, too, once it has lost its pages.
func (env *Env) LosesState(p *core.Pod, by Handover, kept func() error, words string) (err error) {
	if _, err := env.Create(p); err != nil {
		return err
	}
	if err := env.WaitRunning(p.Name); err != nil {
		return err
	}
	left, err := env.TenantFolder(p.Name)
	if err != nil {
		return err
	}
	if err := by.End(); err != nil {
		return err
	}
	aside, err := os.MkdirTemp(env.Path("divvy"), "aside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	taken := filepath.Join(aside, filepath.Base(left))
	if err := os.Rename(left, taken); err != nil {
		return err
	}
	if err := by.Begin(); err != nil {
		return err
	}
	if lost := kept(); lost == nil || !strings.Contains(lost.Error(), words) {
		return errors.Join(lost, fmt.Errorf("%s, of which nothing was left behind, does not fail by %q", p.Name, words))
	}
	if err := os.Truncate(filepath.Join(taken, "control"), 0); err != nil {
		return err
	}
	return env.WaitFor(p.Name+" sees an error", func() error {
		lost := env.StillRunning(p.Name)
		if lost == nil || !strings.Contains(lost.Error(), string(core.PodFailed)) {
			return errors.Join(lost, errors.New("it works on"))
		}
		return nil
	})
}

// UpgradeAgent is RestartAgent, but the one that is there is asked to go, as an upgrade does it.
func (env *Env) UpgradeAgent(build string) error {
	if one, known := env.Processes.Find(AgentProcess); known && one.Alive() {
		if err := syscall.Kill(one.Pid, syscall.SIGTERM); err != nil {
			return err
		}
		if err := one.End(StopBound); err != nil {
			return err
		}
	}
	return env.RestartAgent(build)
}

// StillRunning: nothing of it has been started again.
func (env *Env) StillRunning(name string) error {
	p, err := env.Get(name)
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
