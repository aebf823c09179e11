package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

// measureStarts: from when a pod is bound until its container's own program begins, with a share
// and without, by turns.
func (b *nodeBench) measureStarts() error {
	printProgress("starting %d pods with a share and %d without", b.plan.starts, b.plan.starts)
	var took [2]latencies
	for at := range 2 * b.plan.starts {
		var limits harness.Limits
		if at%2 == 1 {
			limits = harness.OneShare("1000", "10")
		}
		milliseconds, err := b.oneStart(fmt.Sprintf("start-%d", at), limits)
		if err != nil {
			return err
		}
		took[at%2] = append(took[at%2], milliseconds)
	}
	for _, all := range took {
		sort.Float64s(all)
	}
	b.report.add("start_ms_p50/without", took[0].at(0.5))
	b.report.add("start_ms_p50/with", took[1].at(0.5))
	b.report.atMost("start_added_ms_p50", took[1].at(0.5)-took[0].at(0.5), mostOverheadMs)
	b.report.add("start_added_ms_p95", took[1].at(0.95)-took[0].at(0.95))
	return nil
}

func (b *nodeBench) oneStart(name string, limits harness.Limits) (float64, error) {
	p := harness.ProbePod(name, limits)
	p.Spec.Containers[0].Args = []string{"begin"}
	if _, err := b.Create(p); err != nil {
		return 0, err
	}
	said, err := b.WaitResult(name, 0)
	if err != nil {
		return 0, err
	}
	bound, err := b.boundAt(name)
	if err != nil {
		return 0, err
	}
	if err := b.Delete(name); err != nil {
		return 0, err
	}
	began := time.Unix(0, int64(said["began"]))
	return began.Sub(bound).Seconds() * 1e3, nil
}

// boundAt is by the API server's clock, which is that of the container.
func (b *nodeBench) boundAt(name string) (at time.Time, err error) {
	err = b.WaitFor("the audit log tells of "+name, func() error {
		err := b.log.Read(func(one *harness.AuditedWrite) {
			if one.Binding() && one.Object.Namespace == b.Namespace && one.Object.Name == name {
				at = one.Done
			}
		})
		if err == nil && at.IsZero() {
			err = errors.New("not yet")
		}
		return err
	})
	return at, err
}

// measureContention: what the agent uses while all tenants compute, and whom it writes to.
func (b *nodeBench) measureContention() error {
	printProgress("starting %d pods that compute", b.plan.tenants)
	for at := range b.plan.tenants {
		p := harness.ProbePod(fmt.Sprintf("tenant-%d", at), harness.OneShare("1000", "10"))
		p.Spec.Containers[0].Args = []string{"contend", "2000000"}
		if _, err := b.Create(p); err != nil {
			return err
		}
	}
	for at := range b.plan.tenants {
		if err := b.WaitMetric("divvy_tenant_processes", fmt.Sprintf("tenant-%d", at), "} 1"); err != nil {
			return err
		}
	}
	if err := b.allocations(); err != nil {
		return err
	}
	if err := b.fullKnown(); err != nil {
		return err
	}
	printProgress("looking at them for %v", b.plan.contend)
	if err := b.log.Read(func(*harness.AuditedWrite) {}); err != nil {
		return err
	}
	began := time.Now()
	before, err := b.processorSeconds()
	if err != nil {
		return err
	}
	time.Sleep(b.plan.contend)
	after, err := b.processorSeconds()
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	b.report.atMost("agent/percent_of_a_core", (sumOf(after)-sumOf(before))/seconds*100, mostAgentPercent)
	if len(b.parts) > 1 {
		b.report.add("agent/of_it_the_helper", (after[1]-before[1])/seconds*100)
	}
	if err := b.writes(seconds); err != nil {
		return err
	}
	if err := b.scrapes(); err != nil {
		return err
	}
	return b.memory()
}

// processorSeconds that each part has had so far.
func (b *nodeBench) processorSeconds() ([]float64, error) {
	seconds := make([]float64, len(b.parts))
	for at, part := range b.parts {
		var err error
		if seconds[at], err = processorSeconds(b.Processes, part); err != nil {
			return nil, err
		}
	}
	return seconds, nil
}

func sumOf(all []float64) (sum float64) {
	for _, one := range all {
		sum += one
	}
	return sum
}

// memory of all parts together.
func (b *nodeBench) memory() error {
	var most, now, last float64
	for _, part := range b.parts {
		of, at, err := memoryMiB(b.Processes, part)
		if err != nil {
			return err
		}
		most, now, last = most+of, now+at, of
	}
	if len(b.parts) > 1 {
		b.report.add("agent/rss_mib_most_of_it_the_helper", last)
	}
	b.report.atMost("agent/rss_mib_most", most, mostAgentMiB)
	b.report.add("agent/rss_mib", now)
	return nil
}

// fullKnown waits until the node has said which cards are full: that is what changed last.
func (b *nodeBench) fullKnown() error {
	return b.WaitFor("the node says which cards are full", func() error {
		node, err := b.KubeletNode(b.Ctx, core.NodeReady)
		if err != nil {
			return err
		}
		said := strings.FieldsFunc(node.Annotations["divvy.dev/full-devices"], func(r rune) bool { return r == ',' })
		if full := b.plan.tenants / tenantsPerCard; len(said) != full {
			return fmt.Errorf("it says it of %d, not of %d", len(said), full)
		}
		return nil
	})
}

// writes to the API server by the agent, with nothing that changes.
func (b *nodeBench) writes(seconds float64) error {
	count := 0
	var what []string
	err := b.log.Read(func(one *harness.AuditedWrite) {
		if strings.HasSuffix(one.User.Username, ":"+harness.AgentAccount) {
			count++
			what = append(what, one.Verb+" "+one.Object.Resource+" "+one.Object.Name)
		}
	})
	b.report.atMost("api_writes_per_minute", float64(count)*60/seconds, 0)
	b.report.details["api_writes"] = what
	return err
}

func (b *nodeBench) scrapes() error {
	var took latencies
	bytes := 0
	for range b.plan.scrapes {
		began := time.Now()
		reply, err := http.Get("http://" + harness.AgentMetrics + "/metrics")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			return err
		}
		took = append(took, time.Since(began).Seconds()*1e3)
		bytes = len(text)
	}
	sort.Float64s(took)
	b.report.add("scrape/ms_p50", took.at(0.5))
	b.report.atMost("scrape/ms_p99", took.at(0.99), mostScrapeMs)
	b.report.add("scrape/kib", float64(bytes)/1024)
	return nil
}

// kubeletPort is the one that the kubelet was told.
func (b *nodeBench) kubeletPort() (int, error) {
	text, err := os.ReadFile(b.Path("kubelet.yaml"))
	if err != nil {
		return 0, err
	}
	for _, line := range harness.Lines(string(text)) {
		var port int
		if n, _ := fmt.Sscanf(line, "port: %d", &port); n == 1 {
			return port, nil
		}
	}
	return 0, errors.New("kubelet.yaml names no port")
}

// allocations: as the kubelet itself has counted them so far, in its own buckets.
func (b *nodeBench) allocations() error {
	port, err := b.kubeletPort()
	if err != nil {
		return err
	}
	const family = "kubelet_device_plugin_alloc_duration_seconds"
	var all, within float64
	buckets := map[string]float64{}
	err = harness.Scrape(harness.LocalURL("https", port)+"/metrics", func(name, labels string, value float64) {
		if name == family+"_count" {
			all += value
		}
		if name != family+"_bucket" {
			return
		}
		if strings.Contains(labels, `le="0.05"`) {
			within += value
		}
		if _, le, found := strings.Cut(labels, `le="`); found {
			buckets[strings.Split(le, `"`)[0]] += value
		}
	})
	if err == nil && all == 0 {
		err = fmt.Errorf("the kubelet counts none in %s", family)
	}
	b.report.atLeast(fmt.Sprintf("allocate_within_%d_ms", mostAllocateMs), within/max(all, 1), 0.99)
	b.report.add("allocations", all)
	b.report.details["allocations_within_s"] = buckets
	return err
}

// measureKubelets: from the socket of a kubelet that began anew until it knows the agent.
func (b *nodeBench) measureKubelets() error {
	printProgress("ending %d kubelets", b.plan.kubelets)
	var took latencies
	for range b.plan.kubelets {
		seconds, err := b.oneKubelet()
		if err != nil {
			return err
		}
		took = append(took, seconds)
	}
	sort.Float64s(took)
	b.report.add("registered_again_s_p50", took.at(0.5))
	b.report.atMost("registered_again_s_most", took.at(1), mostRegisterS)
	return nil
}

func (b *nodeBench) oneKubelet() (float64, error) {
	before := b.RegistrationCount()
	one, known := b.Processes.Find("kubelet")
	if !known {
		return 0, errors.New("there is no kubelet")
	}
	if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	if err := one.End(harness.StopBound); err != nil {
		return 0, err
	}
	const socket = harness.KubeletDir + "/device-plugins/kubelet.sock"
	old, err := os.Stat(socket)
	if err != nil {
		return 0, err
	}
	if err := b.RunKubelet(); err != nil {
		return 0, err
	}
	var there time.Time
	err = b.WaitFor("the kubelet's socket", func() error {
		now, err := os.Stat(socket)
		if err == nil && os.SameFile(old, now) && old.ModTime().Equal(now.ModTime()) {
			err = errors.New("it is the old one")
		}
		if err == nil {
			there = now.ModTime() // it was made then
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	err = b.WaitFor("the kubelet knows the agent again", func() error {
		if b.RegistrationCount() == before {
			return errors.New(b.Processes.Tail(harness.AgentProcess))
		}
		return nil
	})
	return time.Since(there).Seconds(), err
}
