// Requests a share from an agent: for `divvy run`, or to be kept by `divvy share`.
#pragma once

#include "agent_client/agent_client.h"
#include "options/options.h"

namespace divvy::cli {

// Returns this process' request by these options.
agent::RunRequest requestOf(const RunOptions& options);

struct GrantedShare {
  AgentLink link;
  agent::GrantedReply share;
};

// Requests the share; starts the agent if none runs. If asked to, it waits in the agent's queue and
// reports that on stderr, with other notes. An agent that ends before it replies is replaced; two
// requests yield one share.
Result<GrantedShare> requestShare(const agent::RunRequest& request, const agent::Node& node);

}  // namespace divvy::cli
