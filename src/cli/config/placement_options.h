// An agent's placement options: pools of devices, and the device policy for runs that state none.
#pragma once

#include <string>

#include "agent/placement.h"
#include "base/result.h"

namespace divvy::cli {

// Parses a file of pools. `source` is its name in errors: "SOURCE:LINE:COLUMN: PROBLEM".
Result<std::vector<engine::Pool>> parsePools(const std::string& text, const std::string& source);

Result<std::vector<engine::Pool>> readPools(const std::string& path);

// Reads options, or else DIVVY_POOLS (an absolute path) and DIVVY_DEVICE_POLICY. Reads files.
Result<agent::PlacementOptions> readPlacingTerms(const std::string& pools,
                                                 const std::string& policy);

}  // namespace divvy::cli
