package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestDashboard(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "the-schedulers-dashboard-has-data",
			Requirement: "a real Prometheus scrapes the scheduler: every query of its dashboard has a value once a pod was placed, one " +
				"waits and one was refused; of metrics that nobody has it has none",
			Run: dashboardHasData})
}

func dashboardHasData(env *harness.Env) error {
	text, err := os.ReadFile(env.PortsFile(harness.DefaultReplica))
	if err != nil {
		return err
	}
	var ports struct{ Metrics int }
	if err := json.Unmarshal(text, &ports); err != nil || ports.Metrics == 0 {
		return errors.Join(err, fmt.Errorf("it says %s of its ports", text))
	}
	queries, err := env.DashboardQueries("scheduler.json")
	if err != nil {
		return err
	}
	return env.WithPrometheus(fmt.Sprintf("127.0.0.1:%d", ports.Metrics), func(p *harness.Prometheus) error {
		return dashboardShows(env, p, queries)
	})
}

// What a query says once it has happened: the greatest of its values, of the samples with that label, is above 0.
var happened = []struct{ query, label, value string }{
	{"divvy_scheduler_ready", "", ""},
	{"divvy_scheduler_unschedulable_pods", "", ""},
	{"divvy_device_allocated_memory_bytes", "", ""},
	{"divvy_quota_used", "", ""},
	{"rate(divvy_scheduler_filters_total[5m])", "answer", "placed"},
	{"rate(divvy_scheduler_filters_total[5m])", "answer", "refused"},
	{"rate(divvy_scheduler_binds_total[5m])", "answer", "bound"},
	{"rate(divvy_scheduler_reviews_total[5m])", "answer", "denied"},
}

func dashboardShows(env *harness.Env, p *harness.Prometheus, queries []harness.PanelQuery) error {
	// Rates are of what was counted between two scrapes: what comes is counted after the first one.
	if err := env.WaitSeries(p, "divvy_scheduler_ready", 1); err != nil {
		return err
	}
	// The control: what is said of pods is not said before there were any. Those of an earlier check go.
	err := env.WaitFor("control: nothing has happened yet", func() error {
		for _, one := range happened[1:] {
			found, err := p.Query(one.query)
			if value, _ := harness.MaxValue(found, one.label, one.value); err != nil || value > 0 {
				return errors.Join(err, fmt.Errorf("%s %s is %v", one.query, one.value, value))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := placedWaitingRefused(env); err != nil {
		return err
	}
	begun := time.Now()
	err = env.WaitFor("it has all that happened", func() error {
		for _, one := range happened {
			found, err := p.Query(one.query)
			if value, there := harness.MaxValue(found, one.label, one.value); err != nil || !there || value <= 0 {
				return errors.Join(err, fmt.Errorf("%s %s is %v", one.query, one.value, found))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	env.Note = fmt.Sprintf("%d queries have values, %.1f s after it happened", len(queries), time.Since(begun).Seconds())
	return env.WaitFor("every query has a value", func() error { return p.AllHaveValues(queries) })
}

// placedWaitingRefused: one pod of each kind, in a namespace with a quota.
func placedWaitingRefused(env *harness.Env) error {
	if err := env.SetMemoryQuota(20000); err != nil {
		return err
	}
	for _, name := range []string{"placed", "waits"} {
		if _, err := env.Create(harness.Pod(name, harness.Container("c", harness.OneShare("15000", "10")))); err != nil {
			return err
		}
		if name == "placed" {
			if _, err := env.WaitBound(name); err != nil {
				return err
			}
		}
	}
	if _, err := env.WaitRefused("waits"); err != nil {
		return err
	}
	_, err := env.Create(harness.Pod("refused", harness.Container("c", harness.OneShare("20001", "10"))))
	if err == nil {
		return errors.New("who asks for more than the namespace may ever have is made")
	}
	return nil
}
