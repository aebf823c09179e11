package deviceplugin

import (
	"errors"
	"net"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestMetrics(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-metrics-come-as-soon-as-their-port-is-free",
			Requirement: "an agent whose port for Prometheus somebody else has serves its node, and metrics when that one goes",
			Run:         metricsComeLater})
}

func metricsComeLater(env *harness.Env) (err error) {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	if one, known := env.Processes.Find(harness.AgentProcess); known {
		if err := one.End(harness.StopBound); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, env.RestartAgent(record.Build)) }()
	other, err := net.Listen("tcp", harness.AgentMetrics)
	if err != nil {
		return err
	}
	defer other.Close()
	mark := env.AgentLogSize()
	if err := env.RestartAgent(record.Build); err != nil {
		return err
	}
	if err := env.WaitAgentLog("metrics endpoint is unavailable", mark); err != nil {
		return err
	}
	said, err := env.WaitAdmitted("meanwhile")
	if err == nil {
		err = said.Limited(2000 << 20)
	}
	if err == nil {
		err = other.Close()
	}
	if err != nil {
		return err
	}
	return env.WaitFor("metrics come", func() error {
		_, err := harness.ScrapeAgent("divvy_device_memory_used_bytes")
		return err
	})
}
