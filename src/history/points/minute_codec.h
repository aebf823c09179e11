// The bytes of a minute: one point of each series that has a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "points/point.h"

namespace divvy::history {

// The points of one minute, by the series' number.
using MinutePoints = std::map<std::uint32_t, Point>;

// Returns the minute's bytes, 3 to 12 for each point.
std::string encodeMinute(const MinutePoints& points);
// Returns the points. Nothing: the bytes are not those of a minute.
std::optional<MinutePoints> decodeMinute(std::string_view bytes);

}  // namespace divvy::history
