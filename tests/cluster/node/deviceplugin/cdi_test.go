package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func init() {
	checks = append(checks,
		check{"kubelet-cdi-where-the-runtime-reads-it",
			"a runtime that reads CDI specs is given those alone, what is written goes with its container, and " +
				"it is seen that it was read; to one that does not everything is given by mounts, and one that " +
				"was told to and does not is noticed with the first container: no other one is made",
			injectedAsTheRuntimeReads})
}

// given is what the kubelet's checkpoint has of our answer for the pod: all of it, as text.
func (w *world) given(uid string) (string, error) {
	text, err := os.ReadFile(filepath.Join(kubeletDir, "device-plugins", "kubelet_internal_checkpoint"))
	if err != nil {
		return "", err
	}
	var note struct {
		Data struct {
			PodDeviceEntries []struct{ PodUID, AllocResp string }
		}
	}
	if err := json.Unmarshal(text, &note); err != nil {
		return "", err
	}
	for _, one := range note.Data.PodDeviceEntries {
		if one.PodUID == uid {
			all, err := base64.StdEncoding.DecodeString(one.AllocResp)
			return string(all), err
		}
	}
	return "", errors.New("the kubelet has noted nothing of it")
}

// byCdi: the container was told of by a name, or else by mounts, and not by both.
func (w *world) byCdi(name string) (bool, error) {
	p, err := w.get(name)
	if err != nil {
		return false, err
	}
	said, err := w.given(string(p.UID))
	if err != nil {
		return false, err
	}
	named, mounted := strings.Contains(said, "divvy.dev/pod="), strings.Contains(said, "/etc/ld.so.preload")
	if named == mounted {
		return false, fmt.Errorf("named %v, mounted %v: %q", named, mounted, said)
	}
	return named, nil
}

// agentSays waits until it does, in what its log has behind the mark.
func (w *world) agentSays(words string, mark int) error {
	return w.until("the agent says "+words, func() error {
		text, err := os.ReadFile(w.processes.log(agentProcess))
		if err == nil && !strings.Contains(string(text[min(mark, len(text)):]), words) {
			err = errors.New(w.processes.tail(agentProcess))
		}
		return err
	})
}

// agentLogs is how much agents have said so far.
func (w *world) agentLogs() int {
	text, _ := os.ReadFile(w.processes.log(agentProcess))
	return len(text)
}

func (w *world) specs() ([]string, error) {
	return filepath.Glob(filepath.Join(w.cdiDir(), "divvy.dev-pod-*.json"))
}

// isLimited: it sees and gets what it asked for.
func (w *world) isLimited(name string) error {
	if _, err := w.create(probe(name, one("2000", "10"))); err != nil {
		return err
	}
	said, err := w.ended(name, 0)
	if err == nil {
		err = said.limited(2000 << 20)
	}
	return err
}

func injectedAsTheRuntimeReads(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	// Another agent looks anew whether what it writes is read.
	mark := w.agentLogs()
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	if record.Runtime == "" {
		return w.notReading(record.Build, mark)
	}
	return w.reading(record.Build, mark)
}

func (w *world) reading(build string, mark int) error {
	w.note = "given by CDI"
	if err := w.agentSays("containers are given theirs by CDI", mark); err != nil {
		return err
	}
	stays := probe("stays", one("3000", "10"))
	stays.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(stays); err != nil {
		return err
	}
	if err := w.runs("stays"); err != nil {
		return err
	}
	if err := w.isLimited("limited"); err != nil {
		return err
	}
	if named, err := w.byCdi("stays"); err != nil || !named {
		return fmt.Errorf("it was not given by CDI, %w", err)
	}
	if err := w.agentSays("the runtime reads CDI specs", mark); err != nil {
		return err
	}
	// The control: the same runtime, and mounts.
	if err := w.agentBegins(build, "--injection", "mounts"); err != nil {
		return err
	}
	if err := w.isLimited("mounted"); err != nil {
		return err
	}
	if named, err := w.byCdi("mounted"); err != nil || named {
		return fmt.Errorf("it was not given by mounts, %w", err)
	}
	if err := w.stillWorks("stays"); err != nil {
		return err
	}
	if there, err := w.specs(); err != nil || len(there) == 0 {
		return fmt.Errorf("no spec is there while one works, %w", err)
	}
	for _, name := range []string{"stays", "limited", "mounted"} {
		if err := w.remove(name); err != nil {
			return err
		}
	}
	return w.until("what was written is gone", func() error {
		left, err := w.specs()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v", left)
		}
		return err
	})
}

func (w *world) notReading(build string, mark int) error {
	if err := w.agentSays("containers are given theirs by mounts: containerd://1.6", mark); err != nil {
		return err
	}
	if err := w.isLimited("limited"); err != nil {
		return err
	}
	if named, err := w.byCdi("limited"); err != nil || named {
		return fmt.Errorf("it was not given by mounts, %w", err)
	}
	mark = w.agentLogs()
	if err := w.agentBegins(build, "--injection", "cdi"); err != nil {
		return err
	}
	// It is made, and has nothing: not even a driver.
	if _, err := w.create(probe("without", one("2000", "10"))); err != nil {
		return err
	}
	begun := time.Now()
	if err := w.agentSays("ignores CDI, and gave it nothing of its share", mark); err != nil {
		return err
	}
	w.note = fmt.Sprintf("given by mounts; that CDI is ignored is noticed after %.1f s", time.Since(begun).Seconds())
	if _, err := w.create(probe("next", one("2000", "10"))); err != nil {
		return err
	}
	return w.until("no other one is made", func() error {
		p, err := w.get("next")
		if err != nil {
			return err
		}
		for _, one := range p.Status.ContainerStatuses {
			if waits := one.State.Waiting; waits != nil && strings.Contains(waits.Message, "ignores CDI") {
				return nil
			}
			return fmt.Errorf("%+v", one.State)
		}
		return fmt.Errorf("it is %s: %s", p.Status.Phase, p.Status.Message)
	})
}
