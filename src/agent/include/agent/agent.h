// The agent: one process per user and node flavour. It owns the tenants' ledgers.
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
  std::uint64_t idle_ms = 0;  // exit this long after the last tenant and connection; 0: never
  bool to_log_file = false;   // log to agent.log instead of stderr
  int ready_fd = -1;          // receives "ok\n" or the one-line error, once; -1: none
  Oversubscription memory;
  IdlePolicy idle;
  BypassPolicy bypass;
  PlacementOptions placing;
  std::optional<ClusterNode> cluster;     // the cluster of which this machine is a node
  std::optional<MetricsOptions> metrics;  // nothing: no metrics
  DeviceExclusions excluded;
  std::vector<std::string> notices;  // warnings about the options, a line each; for the log
};

// Runs the agent until it is stopped (SIGTERM, SIGINT, `divvy stop`, idle). Living tenants are left
// to a successor; without any, all files of the agent are removed.
// An agent that already runs for this node is a success without effect. On a cluster's node this
// call waits for the end of that agent. One thread runs the loop, another calls the driver. At most
// one call in a process.
Result<void> serve(const ServeOptions& options);

}  // namespace divvy::agent
