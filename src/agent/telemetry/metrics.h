// What Prometheus is told of cards and tenants. Pure. Private.
#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/protocol.h"
#include "metrics/exposition.h"
#include "telemetry/usage_accounting.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// As everything is at one instant.
struct MetricsInput {
  Snapshot snapshot;
  std::string node;                          // of the cluster, or else of the machine's agents
  std::map<std::string, PodContainer> pods;  // by tenant's id; of those that are a pod's
  std::map<std::string, metrics::LabelList>
      labels;  // by tenant's id: of those asked for, its pod's
  UsageAccounting::Bills bills;
  std::map<std::string, TenantCounters> tallies;  // by tenant's id
  // By number of the device: part of its time that processes had who are nobody's.
  std::map<unsigned, double> foreign;
  struct UnmanagedUse {  // likewise
    unsigned processes = 0;
    Bytes bytes;
    Bytes graphics;  // of whatever only draws, whosever it is
  };
  std::map<unsigned, UnmanagedUse> strangers;
  // Numbers of the devices that the driver says something against; of others there may be other
  // reasons why they are given to nobody new.
  std::set<unsigned> faulty;
  metrics::Histogram late;  // seconds that the agent's loop was late
  double latest = 0;        // the largest of the last minute
  // How often each Xid was told of, by number of the device.
  std::map<unsigned, std::map<std::uint64_t, std::uint64_t>> faults;
};

// In Prometheus' text format. What is not known has no sample. `hami`: under the names of HAMi's
// monitor, too.
std::string exposition(const MetricsInput& all, bool hami = false);

// Every family as a row of a table in Markdown, for docs/monitoring.md.
std::string familiesTable();

}  // namespace divvy::agent
