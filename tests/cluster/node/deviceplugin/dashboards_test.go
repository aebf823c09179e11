package deviceplugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestDashboards(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-the-dashboards-of-its-node-have-data",
			Requirement: "a real Prometheus scrapes the agent of a node: every query of the dashboards of cards and tenants has a value for " +
				"each card, and for each container that runs with a share by what people call it; those of tenants have none " +
				"before there are any, those of cards none without the agent, and all again under the next one",
			Run: nodeDashboardsHaveData})
}

const (
	// Nobody's memory is short here: what is promised twice is swapped. All others are above 0 for somebody.
	alwaysZero = "divvy_tenant_allocations_device_full_total"
	// Has values of the cards that somebody computes on who is no tenant.
	ofStrangers = "divvy_device_unmanaged_utilisation_ratio"
)

var dashboardTerms = append([]string{"--overcommit", "2"}, harness.SwapTurns...)

// The boards of a node, and who is to be on them.
type dashboards struct {
	cards, tenants []harness.PanelQuery
	uuids          []string
	containers     []harness.ContainerRef
	workers        []*harness.Worker
}

func nodeDashboardsHaveData(env *harness.Env) error {
	record, _, err := env.NodeAndDevices()
	if err != nil {
		return err
	}
	return env.WithDevices(harness.SwapCards, dashboardTerms, func(uuids []string) error {
		all := &dashboards{uuids: uuids}
		if all.cards, err = env.DashboardQueries("devices.json"); err != nil {
			return err
		}
		if all.tenants, err = env.DashboardQueries("tenants.json"); err != nil {
			return err
		}
		return env.WithPrometheus(harness.AgentMetrics, func(p *harness.Prometheus) error {
			return nodeDashboardsShow(env, p, all, record.Build)
		})
	})
}

func nodeDashboardsShow(env *harness.Env, p *harness.Prometheus, all *dashboards, build string) error {
	if err := env.WaitSeries(p, "divvy_device_hardware_info", len(all.uuids)); err != nil {
		return err
	}
	if err := noneHas(p, all.tenants); err != nil {
		return fmt.Errorf("control: before there are tenants: %w", err)
	}
	if err := busyDashboards(env, p, all, build); err != nil {
		return err
	}
	begun := time.Now()
	if err := dashboardsShow(env, p, all); err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%d queries have values of %d cards and %d containers, %.1f s after they began to work",
		len(all.cards)+len(all.tenants), len(all.uuids), len(all.containers), time.Since(begun).Seconds())
	if err := env.KillProcess(harness.AgentProcess); err != nil {
		return err
	}
	err := env.WaitFor("without the agent the cards' queries are empty", func() error { return noneHas(p, all.cards) })
	if err := errors.Join(err, env.RestartAgentOn(harness.SwapCards, build, dashboardTerms...)); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := dashboardsShow(env, p, all); err != nil {
		return fmt.Errorf("under the next agent: %w", err)
	}
	return all.workedOn()
}

// workedOn: all that was counted is of programs that did what they were told, and nothing of it is wrong.
func (b *dashboards) workedOn() error {
	for _, h := range b.workers {
		if rounds, err := h.Stop(); err != nil || rounds == 0 {
			return errors.Join(err, fmt.Errorf("%s did %d rounds", h.Name, rounds))
		}
		if err := h.VerifyMemory(); err != nil {
			return err
		}
	}
	return nil
}

// noneHas: they are understood, and answered with nothing.
func noneHas(p *harness.Prometheus, queries []harness.PanelQuery) error {
	for _, one := range queries {
		if found, err := p.Query(one.Query); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("%q: %s is %v", one.Panel, one.Query, found))
		}
	}
	return nil
}

// busyDashboards: beside a pod that Divvy gave nothing three containers of two pods have more of the first card than it
// has,
// and take turns on it; each is refused something.
func busyDashboards(env *harness.Env, p *harness.Prometheus, all *dashboards, build string) error {
	const most = harness.SwapCardMiB * 60 / 100
	// It comes while there is room for a context.
	unmanaged := env.UnmanagedPodOn(harness.SwapCards, "unmanaged", build)
	unmanaged.Spec.Containers[0].Args = []string{"contend", "1000000"}
	if _, err := env.Create(unmanaged); err != nil {
		return err
	}
	if err := env.WaitRunning("unmanaged"); err != nil {
		return err
	}
	workers, err := env.StartWorkers(harness.WithSecondContainer(harness.ShareOf("pair", all.uuids[0], most),
		harness.SwapCardMiB/8), "swapper")
	if err != nil {
		return err
	}
	single, err := env.StartWorker(harness.ShareOf("single", all.uuids[0], most), "swapper")
	if err != nil {
		return err
	}
	workers = append(workers, single)
	all.workers = workers
	all.containers = []harness.ContainerRef{{Pod: "pair", Container: "probe"}, {Pod: "pair", Container: "beside"},
		{Pod: "single", Container: "probe"}}
	for at, blocks := range []int{most/4 - 8, 4, most/4 - 8} {
		if err := errors.Join(workers[at].Must("open"), workers[at].Must("fill", blocks, harness.SwapBlock)); err != nil {
			return err
		}
	}
	// What is counted from now on is an increase.
	if err := env.WaitSeries(p, "divvy_tenant_allocations_refused_total", len(workers)); err != nil {
		return err
	}
	for _, h := range workers {
		if code, err := h.Code("more", harness.SwapCardMiB<<20); err != nil || code != harness.OutOfMemory {
			return errors.Join(err, fmt.Errorf("%s asked for all of the card, and is told %d", h.Name, code))
		}
		if err := h.Must("work", 5000); err != nil {
			return err
		}
	}
	return nil
}

// dashboardsShow: each query, at some moment.
func dashboardsShow(env *harness.Env, p *harness.Prometheus, all *dashboards) error {
	for _, one := range all.cards {
		err := env.WaitFor(one.Panel, func() error { return showsCards(p, one, all.uuids) })
		if err != nil {
			return err
		}
	}
	for _, one := range all.tenants {
		err := env.WaitFor(one.Panel, func() error { return showsContainers(p, one, env.Namespace, all.containers) })
		if err != nil {
			return err
		}
	}
	queries := append(append([]harness.PanelQuery{}, all.cards...), all.tenants...)
	return env.WaitFor("every query has a value", func() error { return p.AllHaveValues(queries) })
}

// showsCards: it has a value for each card, or one for all, or for the node; one of them is above 0.
func showsCards(p *harness.Prometheus, one harness.PanelQuery, uuids []string) error {
	found, err := p.Query(one.Query)
	if err != nil {
		return err
	}
	if one.Query == ofStrangers {
		uuids = uuids[:1]
	}
	for _, uuid := range uuids {
		_, there := harness.MaxValue(found, "device", uuid)
		if whole := len(found) == 1 && found[0].Labels["device"] == ""; !there && !whole {
			return fmt.Errorf("%s of %s is not in %v", one.Query, uuid, found)
		}
	}
	return aboveNothing(one, found)
}

// showsContainers: it has a value for each of these containers, or each one's pod where it adds containers up.
func showsContainers(p *harness.Prometheus, one harness.PanelQuery, namespace string,
	containers []harness.ContainerRef) error {
	found, err := p.Query(one.Query)
	if err != nil {
		return err
	}
	sums := strings.HasPrefix(one.Query, "sum by (namespace, pod) ")
	for _, who := range containers {
		var its []harness.Sample
		for _, has := range found {
			same := has.Labels["namespace"] == namespace && has.Labels["pod"] == who.Pod
			if same && (sums || has.Labels["container"] == who.Container) {
				its = append(its, has)
			}
		}
		if _, there := harness.MaxValue(its, "", ""); !there || len(its) != 1 {
			return fmt.Errorf("%s of %v of %s is not once in %v", one.Query, who, namespace, found)
		}
	}
	return aboveNothing(one, found)
}

func aboveNothing(one harness.PanelQuery, found []harness.Sample) error {
	if value, _ := harness.MaxValue(found, "", ""); value <= 0 && !strings.Contains(one.Query, alwaysZero) {
		return fmt.Errorf("%s is %v", one.Query, found)
	}
	return nil
}
