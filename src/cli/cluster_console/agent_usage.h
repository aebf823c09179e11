// The use of devices and shares, from agents' metrics. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "console/cluster_source.h"

namespace divvy::cli {

// The use of one node's devices and shares.
struct AgentUsage {
  std::map<std::string, console::DeviceUse> devices;  // by UUID
  std::map<console::ShareUseKey, console::ShareUse> shares;
};

// Reads an agent's metrics (docs/operations/monitoring.md). Samples of tenants without a pod are
// left out. A figure without a sample is not known.
AgentUsage agentUsageOf(std::string_view text);

}  // namespace divvy::cli
