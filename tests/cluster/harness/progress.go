// How far a tenant is that works all the time: it counts its rounds (share_probe.c), into its log.

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
)

// A round is done in well under a millisecond, and told once a second.
const (
	roundsBound = 20 * time.Second
	frozenFor   = 5 * time.Second // in which nothing is told by who is stopped
)

var oneRound = regexp.MustCompile(`rounds=([0-9]+)\n`)

// workDone is how many the pod's container has told of; it may not have begun to.
func (env *Env) workDone(name string) (int, error) {
	p, err := env.Get(name)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(env.Path("pods-log"),
		fmt.Sprintf("%s_%s_%s", p.Namespace, p.Name, p.UID), "probe", "0.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	told := oneRound.FindAllSubmatch(text, -1)
	if len(told) == 0 {
		return 0, nil
	}
	return strconv.Atoi(string(told[len(told)-1][1]))
}

// progresses: it has not only not ended, it does more and more.
func (env *Env) progresses(name string) error { return env.progressesWithin(roundsBound, name) }

func (env *Env) progressesWithin(bound time.Duration, name string) error {
	first, err := env.workDone(name)
	if err != nil {
		return err
	}
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now, err := env.workDone(name); err != nil || now > first {
			return err
		}
	}
	return fmt.Errorf("%s has done nothing for %v: it is at round %d", name, bound, first)
}

// PidsOf are the programs in the pod's container.
func PidsOf(p *core.Pod) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		// Its own mounts are the kubelet's of that pod.
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("/pods/"+string(p.UID)+"/containers/probe/")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no program of %s is here", p.Name)
	}
	return pids, nil
}

// signalPod: the pod's programs are sent that.
func signalPod(p *core.Pod, number syscall.Signal) error {
	pids, err := PidsOf(p)
	for _, pid := range pids {
		err = errors.Join(err, syscall.Kill(pid, number))
	}
	return err
}

// CheckStallIsSeen is the control: a tenant that lives and does nothing is noticed.
func (env *Env) CheckStallIsSeen(name string) error {
	p, err := env.Get(name)
	if err == nil {
		err = signalPod(p, syscall.SIGSTOP)
	}
	if err != nil {
		return err
	}
	// What it told before is on its way into its log yet.
	idle := env.WaitFor("it is seen to do nothing", func() error {
		seen := env.progressesWithin(frozenFor, name)
		if seen == nil || !strings.Contains(seen.Error(), "has done nothing") {
			return fmt.Errorf("%s, whose program is stopped, is seen to work: %w", name, seen)
		}
		return nil
	})
	lives := env.StillRunning(name)
	if err := errors.Join(lives, signalPod(p, syscall.SIGCONT)); err != nil {
		return err
	}
	if idle != nil {
		return fmt.Errorf("control: %w", idle)
	}
	return env.progresses(name)
}
