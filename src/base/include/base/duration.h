// Durations as text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// Parses a duration of 1 ms to 365 days: "500ms", "30s", "5m", "1h", or a plain number of seconds.
// Returns milliseconds. kUsage: any other text; the message names the accepted forms.
Result<std::uint64_t> parseDurationMs(std::string_view text);

// Texts of the units, each written behind its number. `day`: empty if hours are the largest unit.
struct DurationUnits {
  std::string_view second, minute, hour, day;
};
inline constexpr DurationUnits kShortUnits{"s", "m", "h", "d"};
inline constexpr DurationUnits kShortUnitsToHours{"s", "m", "h", ""};
inline constexpr DurationUnits kSpacedUnitsToHours{" s", " min", " h", ""};

// Returns a duration in whole units, rounded down, of the largest unit of which there are two or
// more: "119s", "2m", "3h", "2d".
std::string formatDuration(std::int64_t seconds, const DurationUnits& units);

}  // namespace divvy
