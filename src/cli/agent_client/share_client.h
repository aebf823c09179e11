// A share is asked for: by `divvy run` for a command or a container, by `divvy share` to be kept.
#pragma once

#include "agent_client/agent_client.h"
#include "options/options.h"

namespace divvy::cli {

// What these options ask for, by this process.
agent::RunRequest requestOf(const RunOptions& options);

struct Grant {
  AgentLink link;
  agent::GrantedReply share;
};

// Starts the agent where none runs; waits in its queue where that is asked, and says so on stderr,
// with what else the asker should know. An agent that goes away before it answers is replaced:
// asking twice gives one share.
Result<Grant> askForShare(const agent::RunRequest& request, const agent::Node& node);

}  // namespace divvy::cli
