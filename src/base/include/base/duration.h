// Lengths of time as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// Milliseconds: "500ms", "30s", "5m", "1h", or seconds. kUsage names what is accepted.
Result<std::uint64_t> parseDurationMs(std::string_view text);

// Texts of the units, each behind its number. `day`: empty if hours are the largest unit.
struct DurationUnits {
  std::string_view second, minute, hour, day;
};
inline constexpr DurationUnits kShortUnits{"s", "m", "h", "d"};
inline constexpr DurationUnits kShortUnitsToHours{"s", "m", "h", ""};
inline constexpr DurationUnits kSpacedUnitsToHours{" s", " min", " h", ""};

// Returns whole units of the largest one of which there are two or more: "119s", "2m", "3h", "2d".
std::string formatDuration(std::int64_t seconds, const DurationUnits& units);

}  // namespace divvy
