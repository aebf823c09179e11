package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"divvy.dev/tests/cluster/harness"
)

// Ticks of the clock that processes' time is counted in (sysconf _SC_CLK_TCK; 100 on all Linux).
const ticksPerSecond = 100

// processorSeconds is what a process has used so far: utime and stime of /proc/PID/stat.
func processorSeconds(ps harness.Processes, name string) (float64, error) {
	one, known := ps.Find(name)
	if !known || !one.Alive() {
		return 0, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", one.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", one.Pid, len(fields))
	}
	var ticks float64
	for _, field := range fields[11:13] {
		count, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += count
	}
	return ticks / ticksPerSecond, nil
}

// memoryMiB is the most that a process ever had in memory, and what it has now.
func memoryMiB(ps harness.Processes, name string) (most, now float64, err error) {
	one, known := ps.Find(name)
	if !known {
		return 0, 0, fmt.Errorf("%s does not run", name)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", one.Pid))
	if err != nil {
		return 0, 0, err
	}
	for _, line := range harness.Lines(string(text)) {
		var kibibytes float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kibibytes); n == 1 {
			most = kibibytes / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kibibytes); n == 1 {
			now = kibibytes / 1024
		}
	}
	return most, now, nil
}

// machineSeconds is what all processors did so far, and what they could have.
func machineSeconds() (busy, all float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	for at, field := range strings.Fields(harness.Lines(string(text))[0])[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0, err
		}
		all += ticks / ticksPerSecond
		if at != 3 && at != 4 { // idle, iowait
			busy += ticks / ticksPerSecond
		}
	}
	return busy, all, nil
}

// metrics are sums over labels of what a component says of itself.
type metrics map[string]float64

func (b *bench) metrics() (metrics, error) {
	found := metrics{}
	err := harness.Scrape(harness.LocalURL("https", b.second)+"/metrics", func(name, _ string, value float64) {
		found[name] += value
	})
	return found, err
}

// cost is what was used up to an instant.
type cost struct {
	said      metrics // by kube-scheduler
	busy, all float64 // of the machine
	used      map[string]float64
}

var costly = []string{"etcd", "kube-apiserver", harness.DefaultReplica.KubeScheduler(),
	harness.DefaultReplica.Extender()}

func (b *bench) cost() (cost, error) {
	now := cost{used: map[string]float64{}}
	var err error
	if now.said, err = b.metrics(); err != nil {
		return now, err
	}
	if now.busy, now.all, err = machineSeconds(); err != nil {
		return now, err
	}
	for _, name := range costly {
		if now.used[name], err = processorSeconds(b.Processes, name); err != nil {
			return now, err
		}
	}
	return now, nil
}

// saturation is what was at its limit while pods were placed.
type saturation struct {
	Thread  float64            `json:"scheduling_thread"` // part of the time
	Machine float64            `json:"machine"`           // likewise, of all processors
	Waited  float64            `json:"client_wait_ms"`    // a call, for kube-scheduler's own rate
	Used    map[string]float64 `json:"processors"`
	What    string             `json:"what"`
}

// How long calls may wait for the client's own rate, on average, before that decides.
const mostWaitMs = 1

func saturated(from, to cost, seconds float64) saturation {
	spent := func(name string) float64 { return to.said[name] - from.said[name] }
	s := saturation{
		Thread:  spent("scheduler_scheduling_algorithm_duration_seconds_sum") / seconds,
		Machine: (to.busy - from.busy) / (to.all - from.all),
		Used:    map[string]float64{},
	}
	if calls := spent("rest_client_rate_limiter_duration_seconds_count"); calls > 0 {
		s.Waited = spent("rest_client_rate_limiter_duration_seconds_sum") / calls * 1e3
	}
	for name, used := range to.used {
		s.Used[name] = (used - from.used[name]) / seconds
	}
	switch {
	case s.Waited > mostWaitMs:
		s.What = "the client's rate"
	case s.Thread > 0.9:
		s.What = "the scheduling thread"
	case s.Machine > 0.9:
		s.What = "the machine's processors"
	default:
		s.What = "nothing: calls in flight"
	}
	return s
}

func (s saturation) String() string {
	text := fmt.Sprintf("at its limit: %s (scheduling thread %.0f %%, machine %.0f %%, "+
		"wait for the client's rate %.2f ms a call; processors:", s.What, 100*s.Thread, 100*s.Machine,
		s.Waited)
	for _, name := range costly {
		if s.Used[name] > 0 {
			text += fmt.Sprintf(" %s %.2f", name, s.Used[name])
		}
	}
	return text + ")"
}
