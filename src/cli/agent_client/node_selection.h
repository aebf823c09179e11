// Selects the nodes of a command.
#pragma once

#include <vector>

#include "agent/node.h"
#include "agent_client/agent_client.h"
#include "config/node_choice.h"
#include "options/options.h"

namespace divvy::cli {

// Returns the nodes with agents in this user's runtime directory, the real one first; with --sim
// only that one.
std::vector<agent::Node> runningNodes(const SimChoice& sim);

struct NodeLink {
  agent::Node node;
  AgentLink link;
};

// Connects to the running agents. Starts an agent only if a killed one left tenants. It fails if
// tenants live that no agent knows.
Result<std::vector<NodeLink>> linkRunning(const SimChoice& sim);

// As linkRunning(), but without a running agent it starts that of the chosen or the real node.
Result<std::vector<NodeLink>> linkOrStart(const SimChoice& sim);

// Returns the agents' snapshots; agents that ended meanwhile are left out.
std::vector<agent::Snapshot> snapshotsOf(std::vector<NodeLink>& links);

}  // namespace divvy::cli
