package commands

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"divvy.dev/tests/cluster/harness"
)

// allocation is what pods hold of all devices.
type allocation struct {
	bytes, milli float64
}

func (a allocation) near(other allocation) bool {
	within := func(one, two float64) bool { return math.Abs(one-two) <= usageTolerance*math.Max(one, two) }
	return within(a.bytes, other.bytes) && within(a.milli, other.milli)
}

// shownAllocation sums the devices of the page.
func (s *consoleSession) shownAllocation() (allocation, error) {
	var sum allocation
	devices, err := rows[consoleDevice](s, "devices")
	for _, one := range devices {
		sum.bytes += float64(one.Limits)
		sum.milli += one.Compute * 10
	}
	return sum, err
}

// scrapedAllocation sums the scheduler's metrics.
func (s *consoleSession) scrapedAllocation() (allocation, error) {
	var sum allocation
	ports, err := s.env.Ports(harness.DefaultReplica)
	if err != nil {
		return sum, err
	}
	reply, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", ports.Metrics))
	if err != nil {
		return sum, err
	}
	defer func() { _ = reply.Body.Close() }()
	families := map[string]float64{}
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		name, _, labelled := strings.Cut(lines.Text(), "{")
		at := strings.LastIndexByte(lines.Text(), ' ')
		if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); labelled && err == nil {
			families[name] += value
		}
	}
	sum.bytes = families["divvy_device_allocated_memory_bytes"]
	sum.milli = families["divvy_device_allocated_compute_ratio"] * 1000
	return sum, lines.Err()
}

// simulatedAllocation is that of the state that `divvy simulate replay` begins with.
func (s *consoleSession) simulatedAllocation() (allocation, error) {
	folder, err := os.MkdirTemp("", "agreement")
	if err != nil {
		return allocation{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "cluster.json")
	var replay struct {
		Before struct {
			Bytes float64 `json:"used_bytes"`
			Milli float64 `json:"used_milli"`
		}
	}
	if _, err := s.env.RunDivvy(nil, "snapshot", "--cluster", "-o", file); err != nil {
		return allocation{}, err
	}
	_, err = s.env.RunDivvy(&replay, "simulate", "replay", file, "-o", "json")
	return allocation{replay.Before.Bytes, replay.Before.Milli}, err
}

// allocationsAgree compares the page, the scheduler's metrics and the simulator.
func (s *consoleSession) allocationsAgree() error {
	shown, err := s.shownAllocation()
	scraped, err2 := s.scrapedAllocation()
	simulated, err3 := s.simulatedAllocation()
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if shown.bytes == 0 || shown.milli == 0 || !shown.near(scraped) || !shown.near(simulated) {
		return fmt.Errorf("the page has %+v, /metrics %+v, simulate %+v", shown, scraped, simulated)
	}
	return nil
}
