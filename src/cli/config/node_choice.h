// Which node an option names.
#pragma once

#include <string>

#include "agent/node.h"
#include "base/result.h"
#include "options/options.h"

namespace divvy::cli {

// Returns the profile of `--sim` without a value: DIVVY_SIM, otherwise h100.
std::string defaultProfile();

// Returns the node of `--sim PROFILE`; without --sim the real one. kUsage: unknown profile.
Result<agent::Node> nodeForRun(const SimChoice& sim);

// Returns the node of an agent's `--node NAME`: gpu, or sim-PROFILE. kUsage: unknown profile.
Result<agent::Node> nodeForAgent(const std::string& name);

}  // namespace divvy::cli
