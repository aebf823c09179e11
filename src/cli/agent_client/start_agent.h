// Starting an agent in the background.
#pragma once

#include "agent/node.h"
#include "base/result.h"

namespace divvy::cli {

// How long an agent without tenants and connections stays.
constexpr unsigned kIdleSeconds = 30;

// Starts `divvy agent` for the node, detached from this process' session, terminal and environment,
// and returns when it accepts connections. The agent's own one-line error comes back. Call with the
// node directory locked.
Result<void> startAgent(const agent::Node& node);

}  // namespace divvy::cli
