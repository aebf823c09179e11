package main

import (
	"errors"
	"net"
)

func init() {
	checks = append(checks,
		check{"kubelet-metrics-come-as-soon-as-their-port-is-free",
			"an agent whose port for Prometheus somebody else has serves its node, and metrics when that one goes",
			metricsComeLater})
}

func metricsComeLater(w *world) (err error) {
	if err := w.onKubelet(); err != nil {
		return err
	}
	record, err := w.readNodeRecord()
	if err != nil {
		return err
	}
	if one, known := w.processes.find(agentProcess); known {
		if err := one.end(stopBound); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, w.agentBegins(record.Build)) }()
	other, err := net.Listen("tcp", agentMetrics)
	if err != nil {
		return err
	}
	defer other.Close()
	mark := w.agentLogs()
	if err := w.agentBegins(record.Build); err != nil {
		return err
	}
	if err := w.agentSays("nobody is told of metrics", mark); err != nil {
		return err
	}
	said, err := w.afterNewAgent("meanwhile")
	if err == nil {
		err = said.limited(2000 << 20)
	}
	if err == nil {
		err = other.Close()
	}
	if err != nil {
		return err
	}
	return w.until("metrics come", func() error {
		_, err := scraped("divvy_card_memory_used_bytes")
		return err
	})
}
