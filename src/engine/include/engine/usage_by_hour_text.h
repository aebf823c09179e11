// Text form of expected use by hour.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// Parses "9-18=80%,else=10%": from the first hour until the second, also over midnight ("22-6"), or
// a single hour ("9"). Each hour at most once. `else` covers all other hours; default 100%. Percent
// from 0% to 100%, with at most one decimal. kUsage: the message lists the accepted forms.
Result<UsageByHour> parseDaily(std::string_view text);
// Returns all hours, without `else`; parseDaily reads it back to the same value.
std::string text(const UsageByHour& daily);

}  // namespace divvy::engine
