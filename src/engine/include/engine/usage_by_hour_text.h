// How people write which hours of the day they use.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// "9-18=80%,else=10%": from that hour on until that hour, over midnight too ("22-6"), or one hour
// ("9"), each hour at most once; `else` those that are not named, all of it where it is not said.
// Percent with at most one decimal, 0% to 100%. kUsage says which are accepted.
Result<UsageByHour> parseDaily(std::string_view text);
// All hours, without `else`; parseDaily reads it to the same.
std::string text(const UsageByHour& daily);

}  // namespace divvy::engine
