// The tables of `divvy ls` and `divvy gpus`. Pure: state in, text out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// `now`: seconds since 1970. `width`: as for Table::text.
std::string tenantsTable(const std::vector<agent::Snapshot>& nodes, std::int64_t now, bool headers,
                         std::size_t width);
std::string devicesTable(const std::vector<agent::Snapshot>& nodes, bool headers);

}  // namespace divvy::cli
