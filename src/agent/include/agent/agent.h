// The agent: one process per user and node flavour that owns the tenants' ledgers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "agent/device_exclusion.h"
#include "agent/idle_policy.h"
#include "agent/limit_bypass_policy.h"
#include "agent/metrics_options.h"
#include "agent/node.h"
#include "agent/oversubscription.h"
#include "agent/placement.h"
#include "base/result.h"

namespace divvy::agent {

struct ServeOptions {
  Node node;
  std::uint64_t idle_ms = 0;  // leave this long after the last tenant and connection; 0 = never
  bool to_log_file = false;   // diary to agent.log instead of stderr
  int ready_fd = -1;          // told "ok\n", or the one-line error, once; -1 = nobody
  Oversubscription memory;
  IdlePolicy idle;
  BypassPolicy bypass;
  PlacementOptions placing;
  std::optional<ClusterNode> cluster;     // this machine is a node of that cluster
  std::optional<MetricsOptions> metrics;  // nothing: it tells Prometheus nothing
  DeviceExclusions excluded;
  std::vector<std::string> notices;  // of what it was told: warnings for its diary, a line each
};

// Runs until stopped (SIGTERM, SIGINT, `divvy stop`, idle). Tenants that still live are left to a
// successor; without any, everything the agent made is removed. An agent that already runs for this
// node is a success with nothing done; on a node of a cluster its end is waited for. One thread
// runs the loop, another one asks the driver; must not be called twice in a process.
Result<void> serve(const ServeOptions& options);

}  // namespace divvy::agent
