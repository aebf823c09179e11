// The scheduler's metrics for Prometheus. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/exposition.h"
#include "scheduler/device_usage.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

// Resizes of running pods.
struct ShareChangeCounts {
  std::uint64_t admitted = 0, done = 0, refused = 0;
};

// Eviction notices, by result. `unheard`: failed calls of the platform.
struct NoticeCounts {
  std::uint64_t noticed = 0, called_off = 0, evicted = 0, unheard = 0;
};

// The admission check of Kueue's workloads: written decisions, and objects that cannot be read.
struct KueueCounts {
  std::uint64_t ready = 0, retried = 0, rejected = 0, unreadable = 0;
};

// Since the start of the process.
struct Counters {
  metrics::Histogram filter_seconds, bind_seconds, review_seconds;
  std::uint64_t placed = 0, refused = 0, passed = 0, filter_errors = 0;  // answers of /filter
  std::uint64_t bound = 0, bind_refused = 0, bind_uncertain = 0, not_reserved = 0;  // of /bind
  std::uint64_t allowed = 0, denied = 0, not_reviews = 0;                           // of /webhook
  std::uint64_t labelled = 0;                  // pods, for HAMi's monitor
  std::uint64_t locked = 0, lock_refused = 0;  // node locks, for vendors' agents
  std::uint64_t expired = 0;                   // reservations
  std::uint64_t kicked = 0;                    // requeued pods
  // Observed objects that cannot be read.
  std::uint64_t unreadable_nodes = 0, unreadable_pods = 0, unreadable_quotas = 0;
  PreemptionCounts preemption;
  ShareChangeCounts changes;
  NoticeCounts idle, bypass;
  KueueCounts kueue;
};

struct ClusterSample {
  bool ready = false;
  std::uint64_t api_calls = 0;
  std::uint64_t waiting = 0;
  metrics::Histogram late;          // lateness of the event loop, seconds
  double latest = 0;                // largest lateness of the last minute, seconds
  std::uint64_t tries = 0;          // of searches for placements of several containers
  std::uint64_t closed_nodes = 0;   // nodes with unreadable assignments
  std::uint64_t surplus_nodes = 0;  // nodes that register more than their inventories have
  std::vector<DeviceUsage> devices;
  std::vector<AllocatedShare> shares;
  std::vector<QuotaUsage> quotas;
};

// Returns the text of /metrics.
std::string exposition(const Counters& counts, const ClusterSample& seen,
                       const metrics::FurtherNames& further);

}  // namespace divvy::scheduler
