// Starts an agent in the background.
#pragma once

#include "agent/node.h"
#include "base/result.h"

namespace divvy::cli {

// Lifetime of an agent without tenants and connections, in seconds.
constexpr unsigned kIdleSeconds = 30;

// Starts `divvy agent` for the node, detached from this process' session, terminal and environment.
// Returns when it accepts connections, or with its one-line error. Called with the node directory
// locked.
Result<void> startAgent(const agent::Node& node);

}  // namespace divvy::cli
