package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"

	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const accountUser = "system:serviceaccount:" + harness.SystemNamespace + ":" + harness.SchedulerAccount

// A run is one stream of pods, placed with Divvy or without it.
type run struct {
	PerSecond  float64        `json:"pods_per_s"`
	Spent      latencies      `json:"-"` // by the scheduling thread, ms a pod
	Saturation saturation     `json:"saturation"`
	Writes     map[string]int `json:"writes"` // of our identity: by verb, what and whose program
}

func (b *bench) stopwatchFile() string { return b.Path("stopwatch.txt") }

// configFor is the deployed configuration, with a stopwatch; without Divvy nothing else differs.
func (b *bench) configFor(found harness.ExtenderPorts, divvied bool) (string, error) {
	text, err := b.SchedulerConfig(harness.DefaultReplica, harness.LocalURL("http", found.Extender))
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", err
	}
	if !divvied {
		delete(config, "extenders")
	}
	profiles, _ := config["profiles"].([]any)
	if len(profiles) != 1 {
		return "", fmt.Errorf("the configuration has %d profiles", len(profiles))
	}
	profile := profiles[0].(map[string]any)
	timed := map[string]any{"enabled": []any{map[string]any{"name": pluginTimerName}}}
	profile["plugins"] = map[string]any{"preFilter": timed, "reserve": timed}
	profile["pluginConfig"] = []any{map[string]any{"name": pluginTimerName,
		"args": map[string]any{"file": b.stopwatchFile()}}}
	made, err := yaml.Marshal(config)
	return string(made), err
}

// startParts: kube-scheduler and, if so, Divvy; warm when pods have been placed by them.
func (b *bench) startParts(divvied bool) error {
	if err := b.Remove(); err != nil {
		return err
	}
	var found harness.ExtenderPorts
	if divvied {
		if err := b.StartExtender(harness.DefaultReplica); err != nil {
			return err
		}
		err := b.Processes.Wait(b.ctx, harness.DefaultReplica.Extender(),
			func() error { return b.ExtenderReady(harness.DefaultReplica) })
		if err != nil {
			return err
		}
		if found, err = b.Installation.Ports(harness.DefaultReplica); err != nil {
			return err
		}
	}
	config, err := b.configFor(found, divvied)
	if err != nil {
		return err
	}
	if err := harness.ChooseFreePorts(&b.second); err != nil {
		return err
	}
	if err := b.RunKubeScheduler(harness.DefaultReplica, config, b.second); err != nil {
		return err
	}
	err = b.Processes.Wait(b.ctx, harness.DefaultReplica.KubeScheduler(), func() error {
		return harness.RespondsOK(harness.LocalURL("https", b.second) + "/readyz")
	})
	if err != nil || !divvied {
		return err
	}
	return b.Processes.Wait(b.ctx, harness.DefaultReplica.Extender(),
		func() error { return b.Leads(harness.DefaultReplica) })
}

func (b *bench) makePods(prefix string, count int) error {
	return harness.Concurrently(count, func(at int) error {
		p := harness.Pod(fmt.Sprintf("%s-%d", prefix, at), harness.Container("c", harness.Limits{countName: "1"}))
		p.Spec.SchedulerName = harness.SchedulerAccount
		_, err := b.client.CoreV1().Pods(benchSpace).Create(b.ctx, p, meta.CreateOptions{})
		return err
	})
}

func (b *bench) removePods(prefix string, count int) error {
	none := int64(0)
	return harness.Concurrently(count, func(at int) error {
		err := b.client.CoreV1().Pods(benchSpace).Delete(b.ctx, fmt.Sprintf("%s-%d", prefix, at),
			meta.DeleteOptions{GracePeriodSeconds: &none})
		if harness.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// signalScheduler holds kube-scheduler, or lets it go on.
func (b *bench) signalScheduler(signal syscall.Signal) error {
	one, known := b.Processes.Find(harness.DefaultReplica.KubeScheduler())
	if !known || !one.Alive() {
		return fmt.Errorf("kube-scheduler has ended: %s", b.Processes.Log(harness.DefaultReplica.KubeScheduler()))
	}
	return syscall.Kill(one.Pid, signal)
}

// bindings waits until so many pods are bound, and is when each was.
func (b *bench) bindings(log *harness.Audit, count int, each func(*harness.AuditedWrite)) ([]time.Time, error) {
	var bound []time.Time
	for end := time.Now().Add(harness.ReadyBound); len(bound) < count; {
		err := log.Read(func(one *harness.AuditedWrite) {
			each(one)
			if one.Binding() && one.Object.Namespace == benchSpace {
				bound = append(bound, one.Done)
			}
		})
		if err != nil {
			return nil, err
		}
		if b.ctx.Err() != nil {
			return nil, b.ctx.Err()
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%d of %d pods are bound after %v; the end of %s:\n%s", len(bound),
				count, harness.ReadyBound, b.Processes.Log(harness.DefaultReplica.KubeScheduler()),
				b.Processes.Tail(harness.DefaultReplica.KubeScheduler()))
		}
		time.Sleep(20 * time.Millisecond)
	}
	sort.Slice(bound, func(x, y int) bool { return bound[x].Before(bound[y]) })
	return bound, nil
}

// once places the plan's pods. They are made while kube-scheduler is held, so that making them
// takes nothing from placing them and its queue is never empty.
func (b *bench) once(divvied bool) (made run, err error) {
	if err := b.startParts(divvied); err != nil {
		return made, err
	}
	log, err := harness.OpenAudit(b.Path("audit.log"))
	if err != nil {
		return made, err
	}
	defer log.Close()
	nobody := func(*harness.AuditedWrite) {}
	if err := b.makePods("warm", b.plan.warm); err != nil {
		return made, err
	}
	if _, err := b.bindings(log, b.plan.warm, nobody); err != nil {
		return made, err
	}
	if err := b.signalScheduler(syscall.SIGSTOP); err != nil {
		return made, err
	}
	defer func() { _ = b.signalScheduler(syscall.SIGCONT) }() // who is held cannot end
	if err := b.makePods("p", b.plan.pods); err != nil {
		return made, err
	}
	_, from, err := readStopwatch(b.stopwatchFile(), 0)
	if err != nil {
		return made, err
	}
	if err := b.placed(log, &made); err != nil {
		return made, err
	}
	made.Spent, _, err = readStopwatch(b.stopwatchFile(), from)
	sort.Float64s(made.Spent)
	err = errors.Join(err, b.Remove(), b.removePods("p", b.plan.pods),
		b.removePods("warm", b.plan.warm), os.Remove(b.stopwatchFile()))
	return made, err
}

// placed lets kube-scheduler go on, until all are bound and what is said of it is written.
func (b *bench) placed(log *harness.Audit, made *run) error {
	made.Writes = map[string]int{}
	events := 0
	count := func(one *harness.AuditedWrite) {
		if one.User.Username != accountUser {
			return
		}
		program, _, _ := strings.Cut(one.UserAgent, "/")
		what := one.Object.Resource
		if one.Object.Subresource != "" {
			what += "/" + one.Object.Subresource
		}
		made.Writes[program+" "+one.Verb+" "+what]++
		if one.Object.Resource == "events" {
			events++
		}
	}
	// What it asked before is told late; the clock is set by what it can only have asked since.
	if err := log.Read(func(*harness.AuditedWrite) {}); err != nil {
		return err
	}
	if err := b.signalScheduler(syscall.SIGCONT); err != nil {
		return err
	}
	// Only now: who is held says nothing of itself.
	before, err := b.cost()
	if err != nil {
		return err
	}
	began := time.Now()
	bound, err := b.bindings(log, b.plan.pods, count)
	if err != nil {
		return err
	}
	after, err := b.cost()
	if err != nil {
		return err
	}
	made.Saturation = saturated(before, after, time.Since(began).Seconds())
	made.PerSecond = float64(len(bound)-1) / bound[len(bound)-1].Sub(bound[0]).Seconds()
	for end := time.Now().Add(harness.StopBound); events < b.plan.pods && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		if err := log.Read(count); err != nil {
			return err
		}
	}
	return nil
}

// measureSize: without and with by turns, who goes first too; the median of each.
func (b *bench) measureSize(size int) error {
	var rates [2][]float64
	var spent [2]latencies
	var runs [2][]run
	for at := range b.plan.runs {
		for round := range 2 {
			which := (at + round) % 2
			made, err := b.once(which == 1)
			if err != nil {
				return err
			}
			printProgress("%d nodes, %s Divvy: %.0f pods/s; %s", size, []string{"without", "with"}[which],
				made.PerSecond, made.Saturation)
			rates[which] = append(rates[which], made.PerSecond)
			spent[which] = append(spent[which], made.Spent...)
			runs[which] = append(runs[which], made)
		}
	}
	return b.reportSize(size, rates, spent, runs)
}

func (b *bench) reportSize(size int, rates [2][]float64, spent [2]latencies, runs [2][]run) error {
	sort.Float64s(spent[0])
	sort.Float64s(spent[1])
	group := fmt.Sprintf("pods_per_s/%d/", size)
	without, with := median(rates[0]), median(rates[1])
	b.report.add(group+"without", without)
	b.report.add(group+"with", with)
	ratio, suffix := leastRatio, ""
	if size != 1000 {
		ratio, suffix = leastRatio5000, fmt.Sprintf("_%d", size)
	}
	b.report.atLeast("pods_per_s_ratio"+suffix, with/without, ratio)
	added := spent[1].at(0.5) - spent[0].at(0.5)
	if size == 1000 {
		b.report.atMost("added_ms_p50", added, mostAddedMs)
	} else {
		b.report.add("added_ms_p50"+suffix, added)
	}
	b.report.add("added_ms_p99"+suffix, spent[1].at(0.99)-spent[0].at(0.99))
	thread := fmt.Sprintf("thread_ms_p50/%d/", size)
	b.report.add(thread+"without", spent[0].at(0.5))
	b.report.add(thread+"with", spent[1].at(0.5))
	if size == 1000 {
		b.reportWrites(runs[1])
	}
	b.report.details[fmt.Sprintf("runs_%d", size)] = map[string]any{"without": runs[0],
		"with": runs[1]}
	for _, one := range runs[0] {
		if one.Saturation.Waited > mostWaitMs {
			return fmt.Errorf("void: without Divvy calls waited %.1f ms each for the client's own rate",
				one.Saturation.Waited)
		}
	}
	return nil
}

// reportWrites: a lease is renewed by the clock and not for pods; it is told apart.
func (b *bench) reportWrites(runs []run) {
	pods, events, leases := 0, 0, 0
	for _, one := range runs {
		for what, count := range one.Writes {
			switch {
			case strings.HasSuffix(what, " events"):
				events += count
			case strings.HasSuffix(what, " leases"):
				leases += count
			default:
				pods += count
			}
		}
	}
	total := float64(len(runs) * b.plan.pods)
	b.report.atMost("writes_per_pod", float64(pods)/total, mostWrites)
	b.report.add("events_per_pod", float64(events)/total)
	if leases > 0 {
		b.report.note("Leases were renewed %d times meanwhile: by the clock, and counted with nobody.",
			leases)
	}
}

// alreadyThere are pods that hold a share each: as Divvy would have bound them.
func (b *bench) alreadyThere(at int) *core.Pod {
	node := &b.nodes[at%len(b.nodes)]
	device := at / len(b.nodes) % benchDevices
	p := harness.Pod(fmt.Sprintf("held-%d", at), harness.Container("c", harness.Limits{countName: "1",
		"nvidia.com/gpumem": "8000", "nvidia.com/gpucores": "10"}))
	p.Spec.NodeName = node.Name
	p.Spec.SchedulerName = harness.SchedulerAccount
	share := fmt.Sprintf("GPU-%s-%d,NVIDIA,8000,10:;", node.Name, device)
	p.Annotations = map[string]string{harness.AssignedNodeKey: node.Name, harness.AllocatedKey: share,
		"hami.io/vgpu-devices-to-allocate": share, "hami.io/vgpu-time": "1",
		"hami.io/bind-time": "1", "hami.io/bind-phase": "success"}
	return p
}
