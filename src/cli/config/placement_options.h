// What an agent is told of how to place: pools of cards, and which cards where a run does not say.
#pragma once

#include <string>

#include "agent/placement.h"
#include "base/result.h"

namespace divvy::cli {

// The text of a file of pools; `source` is what errors call it: "SOURCE:LINE:COLUMN: WHAT".
Result<std::vector<engine::Pool>> parsePools(const std::string& text, const std::string& source);

Result<std::vector<engine::Pool>> readPools(const std::string& path);

// By options, or else by DIVVY_POOLS (then an absolute path) and DIVVY_DEVICE_POLICY. Reads files.
Result<agent::PlacementOptions> readPlacingTerms(const std::string& pools,
                                                 const std::string& policy);

}  // namespace divvy::cli
