// Which nodes a command is about.
#pragma once

#include <vector>

#include "agent/node.h"
#include "agent_link.h"
#include "options.h"

namespace divvy::cli {

// The profile of `--sim` without a word: DIVVY_SIM, else h100.
std::string defaultProfile();

// The node of `--sim PROFILE`; the real one without --sim. kUsage for a profile nobody knows.
Result<agent::Node> nodeForRun(const SimChoice& sim);

// The node of an agent's `--node NAME`: gpu, or sim-PROFILE. kUsage for a profile nobody knows.
Result<agent::Node> nodeForAgent(const std::string& name);

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
