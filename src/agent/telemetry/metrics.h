// The metrics of cards and tenants. Pure. Private.
#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/protocol.h"
#include "metrics/exposition.h"
#include "telemetry/usage_accounting.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// The state at one instant.
struct MetricsInput {
  Snapshot snapshot;
  std::string node;                          // name of the cluster's node, or else of the machine
  std::map<std::string, PodContainer> pods;  // by tenant's ID; of tenants in pods
  std::map<std::string, metrics::LabelList>
      labels;  // by tenant's ID: the selected labels of its pod
  UsageAccounting::Bills bills;
  std::map<std::string, TenantCounters> tallies;  // by tenant's ID
  RefusedAllocations refused;                     // of all tenants and of ended ones
  // By device index: part of its time that unmanaged processes used.
  std::map<unsigned, double> foreign;
  struct UnmanagedUse {  // by device index
    unsigned processes = 0;
    Bytes bytes;
    Bytes graphics;  // of all processes that draw
  };
  std::map<unsigned, UnmanagedUse> strangers;
  // Indexes of devices with a fault according to the driver. Other devices may be unavailable for
  // other reasons.
  std::set<unsigned> faulty;
  metrics::Histogram late;  // lateness of the agent's loop, in seconds
  double latest = 0;        // the largest of the last minute
  // By device index: number of reports of each Xid.
  std::map<unsigned, std::map<std::uint64_t, std::uint64_t>> faults;
};

// Prometheus' text format. An unknown value has no sample. Other systems' names are those of HAMi's
// monitor.
std::string exposition(const MetricsInput& all, const metrics::FurtherNames& further = {});

// Every family as a row of a Markdown table, for docs/operations/monitoring.md.
std::string familiesTable();

}  // namespace divvy::agent
