package migration

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	"divvy.dev/tests/cluster/upgrade"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPublicNames(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-an-upgrade-loses-no-series-alert-or-annotation",
			Requirement: "scheduler and agent of an earlier build are replaced by this one's while pods run: each series, " +
				"with its labels, is still exported, counters go on, each alert has its series, pods and nodes keep their " +
				"annotations, pods their containers; without deprecated names the old ones are gone and no present one",
			Run: publicNamesKept})
}

// A public is what users see of a cluster at one moment.
type public struct {
	agent, scheduler *upgrade.Exposition
	pods, nodes      map[string]upgrade.Object
}

// names are those of all samples, of both daemons.
func (p *public) names() map[string]int {
	all := p.agent.Names()
	for name, count := range p.scheduler.Names() {
		all[name] += count
	}
	return all
}

func exposition(url string) (*upgrade.Exposition, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, answer.Status)
	}
	if err != nil {
		return nil, err
	}
	return upgrade.ParseExposition(string(text))
}

func objectOf(of meta.ObjectMeta, status core.PodStatus) upgrade.Object {
	one := upgrade.Object{UID: string(of.UID), Phase: string(status.Phase), Annotations: of.Annotations}
	for _, container := range status.ContainerStatuses {
		one.Restarts += container.RestartCount
	}
	return one
}

func readPublic(env *harness.Env) (seen *public, err error) {
	seen = &public{pods: map[string]upgrade.Object{}, nodes: map[string]upgrade.Object{}}
	if seen.agent, err = exposition("http://" + harness.AgentMetrics + "/metrics"); err != nil {
		return nil, err
	}
	ports, err := env.Ports(harness.DefaultReplica)
	if err != nil {
		return nil, err
	}
	if seen.scheduler, err = exposition(harness.LocalURL("http", ports.Metrics) + "/metrics"); err != nil {
		return nil, err
	}
	pods, err := env.Client.CoreV1().Pods(env.Namespace).List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range pods.Items {
		seen.pods[one.Name] = objectOf(one.ObjectMeta, one.Status)
	}
	nodes, err := env.Client.CoreV1().Nodes().List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range nodes.Items {
		seen.nodes[one.Name] = objectOf(one.ObjectMeta, core.PodStatus{})
	}
	return seen, nil
}

// lost are the first of these lines as an error.
func lost(lines []string) error {
	const most = 20
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%d differences:\n%s", len(lines), strings.Join(lines[:min(most, len(lines))], "\n"))
}

// An earlierBuild is where the programs, manifests and alerts of an earlier commit are.
type earlierBuild struct{ build, program, manifests, alerts string }

func earlierBuildOf(env *harness.Env) (earlierBuild, error) {
	// ./dev builds it in its sources' folder.
	deploy := filepath.Join(env.Before, "..", "..", "deploy")
	found := earlierBuild{env.Before, filepath.Join(env.Before, "bin", "divvy"), filepath.Join(deploy, "kubernetes"),
		filepath.Join(deploy, "prometheus", "alerts.yaml")}
	for _, path := range []string{found.program, found.manifests, found.alerts} {
		if _, err := os.Stat(path); err != nil {
			return found, err
		}
	}
	return found, nil
}

// withEarlierScheduler begins with scheduler and manifests of the earlier build, and ends with this one's. `run` finds
// this one's commands.
func withEarlierScheduler(env *harness.Env, earlier earlierBuild, run func() error) error {
	program, manifests := env.Divvy, env.Deploy
	env.Divvy, env.Deploy = earlier.program, earlier.manifests
	err := env.WithOptions([]string{compatMetrics}, func() error {
		env.Divvy, env.Deploy = program, manifests
		return run()
	})
	if env.Divvy == program {
		return err
	}
	env.Divvy, env.Deploy = program, manifests
	return errors.Join(fmt.Errorf("scheduler of the earlier build: %w", err), env.Reinstall())
}

// installAgent replaces the agent, which is asked to go, as an upgrade does it.
func installAgent(env *harness.Env, build string, options ...string) error {
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	return env.RestartAgent(build, append([]string{compatMetrics}, options...)...)
}

// Series under other systems' names are users', too.
const compatMetrics = "--compat-metrics"

func publicNamesKept(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	if env.Before == "" {
		return harness.Skip{Cause: errors.New("no earlier build is here (--before)")}
	}
	record, uuids, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	earlier, err := earlierBuildOf(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	return withEarlierScheduler(env, earlier, func() error {
		if err := installAgent(env, earlier.build); err != nil {
			return fmt.Errorf("agent of the earlier build: %w", err)
		}
		work := &tenants{env: env, uuid: uuids[0]}
		away, err := work.begin()
		defer away()
		if err != nil {
			return fmt.Errorf("under the earlier build: %w", err)
		}
		if err := upgradedNames(work, earlier, record.Build); err != nil {
			return err
		}
		return work.intact()
	})
}

// The tenants all have shares of one card. They work while their sockets are held.
type tenants struct {
	env     *harness.Env
	uuid    string
	workers []*harness.Worker
}

// intact: all of them have worked on until now, and nothing of their memory is wrong.
func (w *tenants) intact() error {
	for _, one := range w.workers {
		if rounds, err := one.Stop(); err != nil || rounds == 0 {
			return errors.Join(err, fmt.Errorf("%s did %d rounds", one.Name, rounds))
		}
		if err := one.VerifyMemory(); err != nil {
			return err
		}
	}
	return nil
}

// begin makes pods of which there is much to see: of a queue and below a quota, on one card, at work, refused
// memory, one of them resized.
func (w *tenants) begin() (func(), error) {
	env := w.env
	queue := "names-" + env.Namespace
	away, err := env.CreateQueue(queue, harness.QueueSpec{Namespaces: []string{env.Namespace},
		Guarantee: harness.DeviceAmount(1)})
	if err != nil {
		return away, err
	}
	err = env.WaitFor("the webhook knows the queue", func() error {
		tried, err := env.Client.CoreV1().Pods(env.Namespace).Create(env.Ctx, harness.ShareOf("tried", w.uuid, tenantMiB),
			meta.CreateOptions{DryRun: harness.DryRun})
		if err == nil && tried.Annotations[harness.QueueKey] != queue {
			err = fmt.Errorf("a pod is of queue %q", tried.Annotations[harness.QueueKey])
		}
		return err
	})
	if err == nil {
		err = env.SetMemoryQuota(10 * tenantMiB)
	}
	for _, name := range []string{"kept", "resized"} {
		if err == nil {
			err = w.add(name)
		}
	}
	if err == nil {
		_, err = env.SetMemory("resized", fmt.Sprintf("%dMi", 2*tenantMiB))
	}
	return away, err
}

const tenantMiB = 3000

func (w *tenants) add(name string) error {
	tenant, err := w.env.StartWorker(harness.ShareOf(name, w.uuid, tenantMiB), "swapper")
	if err != nil {
		return err
	}
	w.workers = append(w.workers, tenant)
	if err := errors.Join(tenant.Must("open"), tenant.Must("fill", 4, 4<<20)); err != nil {
		return err
	}
	if code, err := tenant.Code("more", 3*tenantMiB<<20); err != nil || code != harness.OutOfMemory {
		return errors.Join(err, fmt.Errorf("%s asked for more than its share, and is told %d", name, code))
	}
	return tenant.Must("work", 5000)
}

// settled is what is public once both daemons have said all of the pods.
func settled(env *harness.Env) (seen *public, err error) {
	err = env.WaitFor("series of the pods, and a counter of each", func() error {
		if seen, err = readPublic(env); err != nil {
			return err
		}
		refused, shares := 0, 0
		for _, one := range append(slices.Clone(seen.agent.Series), seen.scheduler.Series...) {
			its := one.Labels["namespace"] == env.Namespace
			if its && one.Name == "divvy_tenant_allocations_refused_total" && one.Value > 0 {
				refused++
			}
			if its && one.Name == "divvy_pod_device_memory_bytes" {
				shares++
			}
		}
		if refused != len(seen.pods) || shares != len(seen.pods) {
			return fmt.Errorf("%d of %d were refused memory, the scheduler has series of %d", refused, len(seen.pods), shares)
		}
		return nil
	})
	return seen, err
}

// alerts of a file, and of it the names of those that have series to judge by.
func alertsOf(file string, names map[string]int) ([]upgrade.Rule, []string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	rules, err := upgrade.ParseRules(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return rules, upgrade.WithSeries(rules, names), nil
}

// upgradedNames: what was public of the earlier build is public of this one.
func upgradedNames(work *tenants, earlier earlierBuild, build string) error {
	env := work.env
	before, err := settled(env)
	if err != nil {
		return err
	}
	rules, judged, err := alertsOf(earlier.alerts, before.names())
	if err != nil {
		return err
	}
	counters := upgrade.ContinuedCounters(before.agent)
	if len(judged) < 10 || counters < 2 {
		return fmt.Errorf("of the earlier build only alerts %v have series, and %d counters are above 0", judged, counters)
	}
	if err := env.Reinstall(); err != nil {
		return fmt.Errorf("this scheduler: %w", err)
	}
	if err := installAgent(env, build); err != nil {
		return fmt.Errorf("this agent: %w", err)
	}
	if err := waitKept(env, before, rules); err != nil {
		return err
	}
	if err := alertsKept(rules); err != nil {
		return err
	}
	if err := writtenAnew(work, before, build); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%s: %d series of %d names, %d counters above 0, %d of %d alerts with series",
		commitOf(earlier.build), len(before.agent.Series)+len(before.scheduler.Series), len(before.names()), counters,
		len(judged), len(rules))
	return presentNamesAlone(work, before, build)
}

func commitOf(build string) string {
	text, err := os.ReadFile(filepath.Join(build, "commit"))
	if err != nil {
		return "no file of its commit"
	}
	return "earlier: " + strings.TrimSpace(string(text))
}

// waitKept: series come with the first observations of a new agent.
func waitKept(env *harness.Env, before *public, rules []upgrade.Rule) error {
	return env.WaitFor("all that was public is so again", func() error {
		now, err := readPublic(env)
		if err != nil {
			return err
		}
		lines := append(upgrade.LostSeries(before.agent, now.agent), upgrade.LostSeries(before.scheduler, now.scheduler)...)
		lines = append(lines, upgrade.LostMetrics(rules, before.names(), now.names())...)
		lines = append(lines, upgrade.LostObjects(before.pods, now.pods)...)
		return lost(append(lines, upgrade.LostObjects(before.nodes, now.nodes)...))
	})
}

const renamedNames = "docs/reference/public-names.md"

// alertsKept: each alert of these is in this build's rules, or is in the page of renamed names.
func alertsKept(rules []upgrade.Rule) error {
	now, _, err := alertsOf("deploy/prometheus/alerts.yaml", nil)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(renamedNames)
	if err != nil {
		return err
	}
	// The page has no such table while no alert is renamed.
	renamed, _ := upgrade.RenamedNames(string(page), "Alerts")
	return lost(upgrade.LostAlerts(rules, now, renamed))
}

// writtenAnew: what the earlier build has written stays in objects even if this one does not know it. So the node's
// annotations are removed while no agent runs, and a pod is made: both have all keys again.
func writtenAnew(work *tenants, before *public, build string) error {
	env := work.env
	if err := env.StopProcess(harness.AgentProcess); err != nil {
		return err
	}
	var removed []string
	for key := range upgrade.PublicAnnotations(before.nodes[harness.KubeletNode].Annotations) {
		if key != inventoryKey {
			removed = append(removed, fmt.Sprintf("%q:null", key))
		}
	}
	patch := []byte(`{"metadata":{"annotations":{` + strings.Join(removed, ",") + "}}}")
	_, err := env.Client.CoreV1().Nodes().Patch(env.Ctx, harness.KubeletNode, types.MergePatchType, patch,
		meta.PatchOptions{})
	if err := errors.Join(err, installAgent(env, build)); err != nil {
		return err
	}
	err = env.WaitFor("this agent writes all annotations of its node", func() error {
		now, err := readPublic(env)
		if err != nil {
			return err
		}
		return lost(upgrade.LostObjects(before.nodes, now.nodes))
	})
	if err != nil {
		return err
	}
	if err := work.add("alike"); err != nil {
		return err
	}
	made, err := env.Get("alike")
	if err != nil {
		return err
	}
	return lost(upgrade.MissingKeys(before.pods["kept"].Annotations, made.Annotations))
}

// The scheduler writes it, once for each node.
const inventoryKey = "divvy.dev/inventory"

// presentNamesAlone: with --deprecated-names off the old names are gone, and nothing else is.
func presentNamesAlone(work *tenants, before *public, build string) error {
	env := work.env
	page, err := os.ReadFile(renamedNames)
	if err != nil {
		return err
	}
	metrics, err := upgrade.RenamedNames(string(page), "Metrics of the agent", "Metrics of the scheduler")
	if err != nil {
		return err
	}
	keys, err := upgrade.RenamedNames(string(page), "Annotations")
	if err != nil {
		return err
	}
	off := []string{"--deprecated-names", "off"}
	return env.WithOptions(append([]string{compatMetrics}, off...), func() error {
		if err := installAgent(env, build, off...); err != nil {
			return err
		}
		err := env.WaitFor("old names are gone, and only these", func() error {
			return oldNamesGone(env, before, metrics, keys)
		})
		if err != nil {
			return fmt.Errorf("deprecated names off: %w", err)
		}
		if err := work.add("present"); err != nil {
			return err
		}
		made, err := env.Get("present")
		if err != nil {
			return err
		}
		return lost(keysRenamed(before.pods["kept"].Annotations, made.Annotations, keys))
	})
}

func oldNamesGone(env *harness.Env, before *public, metrics, keys map[string]string) error {
	now, err := readPublic(env)
	if err != nil {
		return err
	}
	lines := upgrade.Leftovers(metrics, before.names(), now.names())
	lines = append(lines, upgrade.LostSeries(before.agent.Without(metrics), now.agent)...)
	lines = append(lines, upgrade.LostSeries(before.scheduler.Without(metrics), now.scheduler)...)
	// Keys of running pods stay.
	lines = append(lines, upgrade.LostObjects(before.pods, now.pods)...)
	for name, node := range before.nodes {
		lines = append(lines, keysRenamed(node.Annotations, now.nodes[name].Annotations, keys)...)
	}
	rules, _, err := alertsOf("deploy/prometheus/alerts.yaml", nil)
	if err != nil {
		return err
	}
	judged := upgrade.WithSeries(rules, now.names())
	for _, alert := range upgrade.WithSeries(rules, before.names()) {
		if !slices.Contains(judged, alert) {
			lines = append(lines, alert+" has no series")
		}
	}
	return lost(lines)
}

// keysRenamed: an object that this build wrote has no old key, and the present one of each that was there.
func keysRenamed(before, now, keys map[string]string) []string {
	return upgrade.LeftoverKeys(keys, upgrade.PublicAnnotations(before), upgrade.PublicAnnotations(now))
}
