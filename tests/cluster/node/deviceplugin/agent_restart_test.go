package main

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

func init() {
	checks = append(checks,
		check{"kubelet-twenty-agents-are-not-missed",
			"20 agents are killed one after the other: who runs sees no error, who comes gets a share; without what " +
				"an agent leaves behind, and without a next one, that is not so",
			enforcedThroughout},
		check{"kubelet-neither-it-nor-the-agent-is-missed",
			"agent and kubelet are killed and begin anew: who runs sees no error, goes on with its work and keeps its " +
				"share, who comes gets one; without what an agent leaves behind, and without a next one, that is not so",
			enforcedAnew})
}

// firstKnown: agents serve devices by several names, this one first.
var firstKnown = regexp.MustCompile(`the kubelet knows (nvidia\.com/gpu|volcano\.sh/vgpu-number)\n`)

// registrations is how often agents said that the kubelet knows them.
func (w *world) registrations() int {
	text, err := os.ReadFile(w.processes.log(agentProcess))
	if err != nil {
		return 0
	}
	return len(firstKnown.FindAllString(string(text), -1))
}

func enforcedAnew(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentIsThere(record.Build)) }()
	staying := probe("staying", one("3000", "10"))
	staying.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(staying); err != nil {
		return err
	}
	if err := w.runs("staying"); err != nil {
		return err
	}
	for at, begin := range map[string]func() error{
		"kubelet": w.runKubelet, agentProcess: func() error { return w.runAgent(record.Build) }} {
		before := w.registrations()
		if err := w.killed(at); err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		// A kubelet that has no healthy device of a kind turns away for ever who asks for one.
		err := w.until("the kubelet knows the agent again", func() error {
			if w.registrations() == before {
				return errors.New(w.processes.tail(agentProcess))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := w.create(probe("after-"+at, one("2000", "10"))); err != nil {
			return err
		}
		said, err := w.ended("after-"+at, 0)
		if err == nil {
			err = said.limited(2000 << 20)
		}
		if err == nil {
			err = w.keeps("staying", 3000)
		}
		if err != nil {
			return fmt.Errorf("after %s: %w", at, err)
		}
	}
	if err := errors.Join(w.keeps("staying", 3000), w.frozen("staying")); err != nil {
		return err
	}
	return w.unsucceeded(record.Build, "staying", 3000)
}

// killed: the process is gone, and was not asked.
func (w *world) killed(name string) error {
	one, known := w.processes.find(name)
	if !known || !one.alive() {
		return nil
	}
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return err
	}
	return one.end(stopBound)
}

// agentBegins kills the agent that is there, begins another with more options, and waits until the kubelet knows it.
func (w *world) agentBegins(build string, options ...string) error {
	return w.agentBeginsOn(simulated, build, options...)
}

func (w *world) agentBeginsOn(cards, build string, options ...string) error {
	before := w.registrations()
	if err := w.killed(agentProcess); err != nil {
		return err
	}
	if err := w.runAgentOn(cards, build, options...); err != nil {
		return err
	}
	return w.until("the kubelet knows the agent again", func() error {
		if w.registrations() == before {
			return errors.New(w.processes.tail(agentProcess))
		}
		return nil
	})
}

// agentIsThere: whoever comes next finds one.
func (w *world) agentIsThere(build string) error {
	if one, known := w.processes.find(agentProcess); known && one.alive() {
		return nil
	}
	return w.agentBegins(build)
}

func enforcedThroughout(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentIsThere(record.Build)) }()
	working := probe("working", one("3000", "10"))
	working.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(working); err != nil {
		return err
	}
	if err := w.runs("working"); err != nil {
		return err
	}
	agents, early := 20, 0
	if w.kills > 0 {
		agents = w.kills
	}
	for at := 0; at < agents; at++ {
		if err := w.agentBegins(record.Build); err != nil {
			return fmt.Errorf("agent %d: %w", at, err)
		}
		// Not after each: what comes takes longer than what begins anew.
		if at%5 != 0 {
			continue
		}
		name := fmt.Sprintf("after-%d", at)
		said, err := w.afterNewAgent(name)
		if err != nil && strings.Contains(err.Error(), tooEarly) {
			early++
			said, err = w.afterNewAgent(name + "-again")
		}
		if err == nil {
			err = said.limited(2000 << 20)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.keeps("working", 3000); err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d agents; who works has not been started again", agents)
	if early > 0 {
		w.note += fmt.Sprintf("; %d pods were turned away by the kubelet before it had heard of the devices again", early)
	}
	return w.unsucceeded(record.Build, "working", 3000)
}

// Between a plugin's registration and its first list of devices, some milliseconds, the kubelet has none
// that are well, and turns pods away for good: whoever made them makes others.
const tooEarly = "UnexpectedAdmissionError"

func (w *world) afterNewAgent(name string) (seen, error) {
	if _, err := w.create(probe(name, one("2000", "10"))); err != nil {
		return nil, err
	}
	return w.ended(name, 0)
}

// keeps: it works on, and the agent that is there holds it to what it was given.
func (w *world) keeps(name string, mebibytes int) error {
	if err := errors.Join(w.stillWorks(name), w.countsOn(name)); err != nil {
		return err
	}
	found, err := w.samples("divvy_tenant_memory_limit_bytes", name)
	if err == nil && (len(found) != 1 || !strings.HasSuffix(found[0], fmt.Sprintf("} %d", mebibytes<<20))) {
		err = fmt.Errorf("the agent holds %s to %q", name, found)
	}
	return err
}

// ledgers are the folders that an agent leaves behind of pods: one for each container with a share.
func (w *world) ledgers() ([]string, error) {
	return filepath.Glob(w.path("divvy", simulated, "tenants", "pod-*"))
}

var tenantOfSample = regexp.MustCompile(`\btenant="([^"/]+)"`)

// ledgerOf is that of the pod, by what the agent calls it.
func (w *world) ledgerOf(name string) (string, error) {
	found, err := w.samples("divvy_tenant_memory_limit_bytes", name)
	if err != nil {
		return "", err
	}
	words := tenantOfSample.FindStringSubmatch(strings.Join(found, " "))
	if len(found) != 1 || words == nil {
		return "", fmt.Errorf("of %s the agent says %q", name, found)
	}
	return w.path("divvy", simulated, "tenants", words[1]), nil
}

// A handover is how one agent follows another: how the first ends, and how the next begins.
type handover struct{ end, begin func() error }

// bereft is the control: the pod works, and between two agents what the first one left behind of it is taken away.
// `kept` fails then, with these words; and the pod's container does, too, once it has lost its pages.
func (w *world) bereft(p *core.Pod, by handover, kept func() error, words string) (err error) {
	if _, err := w.create(p); err != nil {
		return err
	}
	if err := w.runs(p.Name); err != nil {
		return err
	}
	left, err := w.ledgerOf(p.Name)
	if err != nil {
		return err
	}
	if err := by.end(); err != nil {
		return err
	}
	aside, err := os.MkdirTemp(w.path("divvy"), "aside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	taken := filepath.Join(aside, filepath.Base(left))
	if err := os.Rename(left, taken); err != nil {
		return err
	}
	if err := by.begin(); err != nil {
		return err
	}
	if lost := kept(); lost == nil || !strings.Contains(lost.Error(), words) {
		return errors.Join(lost, fmt.Errorf("%s, of which nothing was left behind, does not fail by %q", p.Name, words))
	}
	if err := os.Truncate(filepath.Join(taken, "control"), 0); err != nil {
		return err
	}
	return w.until(p.Name+" sees an error", func() error {
		lost := w.stillWorks(p.Name)
		if lost == nil || !strings.Contains(lost.Error(), string(core.PodFailed)) {
			return errors.Join(lost, errors.New("it works on"))
		}
		return nil
	})
}

// unsucceeded is the control: while there is no agent who comes is turned away, and where the next one finds nothing
// of who was there that keeps nothing. Who `stays` is not concerned.
func (w *world) unsucceeded(build, stays string, mebibytes int) error {
	p := probe("bereft", one(fmt.Sprint(mebibytes), "10"))
	p.Spec.Containers[0].Args = []string{"work"}
	by := handover{w.turnedAway, func() error { return w.agentBegins(build) }}
	err := w.bereft(p, by, func() error { return w.keeps(p.Name, mebibytes) }, "the agent holds bereft to []")
	if err == nil {
		err = w.keeps(stays, mebibytes)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}
