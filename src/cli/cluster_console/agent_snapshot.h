// The use of devices and shares, from the state that an agent answers with. Pure.
#pragma once

#include <string_view>

#include "agent/protocol.h"
#include "base/result.h"
#include "cluster_console/agent_usage.h"

namespace divvy::cli {

// Reads the answer of agent::kSnapshotPath: as agentUsageOf(), and why shares are slow, which one
// has the turn of its device, and swapped memory. Tenants without a pod are left out. kCorrupt: it
// is no such answer.
Result<AgentUsage> agentUsageOfSnapshot(std::string_view text);

AgentUsage usageOf(const agent::Snapshot& node);

}  // namespace divvy::cli
