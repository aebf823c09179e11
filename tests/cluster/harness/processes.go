package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A process that `up` started and `down` ends. With the time of its start its number cannot mean
// another process that got the number later.
type process struct {
	Name    string `json:"name"`
	Pid     int    `json:"pid"`
	Started string `json:"started"`
}

// startTime is field 22 of /proc/PID/stat (proc(5)): ticks since boot. Empty: there is no such
// process, or it has ended and nobody has asked for its status yet.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name is in brackets and may hold spaces and brackets itself.
	rest := string(text)
	rest = rest[strings.LastIndexByte(rest, ')')+1:]
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	if fields[0] == "Z" {
		// Its other threads may still be ending, and with them its sockets.
		if left, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)); err != nil || len(left) < 2 {
			return ""
		}
	}
	return fields[19]
}

func (p process) Alive() bool { return p.Started != "" && startTime(p.Pid) == p.Started }

// Processes is the file of what runs, one JSON object per file in dir/run.
type Processes struct {
	dir  string
	self string // the cluster's program
}

func (ps Processes) run() string { return filepath.Join(ps.dir, "run") }

func (ps Processes) Log(name string) string {
	return filepath.Join(ps.dir, "log", name+".log")
}

func (ps Processes) read(file string) (process, error) {
	var one process
	text, err := os.ReadFile(file)
	if err != nil {
		return one, err
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return one, fmt.Errorf("%s: %w", file, err)
	}
	return one, nil
}

// Start leaves the process running when this one ends.
func (ps Processes) Start(name, program string, args ...string) error {
	return ps.startAs("", name, program, args...)
}

// startAs runs it on a machine that is called `host`, as far as it can tell; empty: as this is.
func (ps Processes) startAs(host, name, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if host != "" {
		command = onHost(ps.self, host, program, args)
	}
	return ps.launch(name, command)
}

func (ps Processes) launch(name string, command *exec.Cmd) error {
	log, err := os.OpenFile(ps.Log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout = log
	command.Stderr = log
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	one := process{name, command.Process.Pid, startTime(command.Process.Pid)}
	// Its status is taken at once when it ends, or it would seem to be alive as long as we are.
	go func() { _ = command.Wait() }()
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	// Whole or not at all, and not without a record: who is not on record is never ended.
	file := filepath.Join(ps.run(), name+".json")
	err = os.WriteFile(file+".new", text, 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		_ = command.Process.Kill()
	}
	return err
}

// startWithout runs it as that user, without rights of root's but root's group, and where it sees
// no process but its own: as a container does.
func (ps Processes) startWithout(user uint32, name, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID,
		Credential: &syscall.Credential{Uid: user, Gid: 0}}
	return ps.launch(name, command)
}

// Tail is the end of what a process said, for whoever has to find out why it ended.
func (ps Processes) Tail(name string) string {
	text, err := os.ReadFile(ps.Log(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) > 15 {
		lines = lines[len(lines)-15:]
	}
	return strings.Join(lines, "\n")
}

// Wait asks until it is so, the process has ended, or the time is over.
func (ps Processes) Wait(ctx context.Context, name string, ready func() error) error {
	end := time.Now().Add(ReadyBound)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if one, known := ps.Find(name); known && !one.Alive() {
			return fmt.Errorf("%s has ended; the end of %s:\n%s", name, ps.Log(name), ps.Tail(name))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready after %v: %w; the end of %s:\n%s", name, ReadyBound, err,
				ps.Log(name), ps.Tail(name))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Find reads one record; one that cannot be read is an error and not nobody.
func (ps Processes) Find(name string) (process, bool) {
	one, err := ps.read(filepath.Join(ps.run(), name+".json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
	return one, err == nil
}

// End asks a process to end, and makes it after `grace`.
func (p process) End(grace time.Duration) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !p.Alive() {
			return nil
		}
		if err := syscall.Kill(p.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("%s (%d): %w", p.Name, p.Pid, err)
		}
		for end := time.Now().Add(grace); p.Alive() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if p.Alive() {
		return fmt.Errorf("%s (%d) does not end", p.Name, p.Pid)
	}
	return nil
}
