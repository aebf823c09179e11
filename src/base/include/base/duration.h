// Lengths of time as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace divvy {

// Milliseconds: "500ms", "30s", "5m", "1h", or seconds. kUsage names what is accepted.
Result<std::uint64_t> parseDurationMs(std::string_view text);

}  // namespace divvy
