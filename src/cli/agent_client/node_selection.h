// Which nodes a command is about.
#pragma once

#include <vector>

#include "agent/node.h"
#include "agent_client/agent_client.h"
#include "config/node_choice.h"
#include "options/options.h"

namespace divvy::cli {

// Names of nodes whose agents run in this user's runtime directory, the real one first; with --sim
// only that one.
std::vector<agent::Node> runningNodes(const SimChoice& sim);

struct NodeLink {
  agent::Node node;
  AgentLink link;
};

// Links to the running nodes' agents. Starts one only where a killed agent left tenants, and
// fails where tenants live that no agent can be asked about.
Result<std::vector<NodeLink>> linkRunning(const SimChoice& sim);

// Likewise, but with no agent running the asked node's, or the real one's, is started.
Result<std::vector<NodeLink>> linkOrStart(const SimChoice& sim);

// Snapshots of these; nodes that went away meanwhile are left out.
std::vector<agent::Snapshot> snapshotsOf(std::vector<NodeLink>& links);

}  // namespace divvy::cli
