// Virtual time: device time divided by weight. Tenants of one class that all want to run are served
// in its order. So their virtual times stay close together, and their device times in proportion to
// their weights.
#pragma once

#include <algorithm>
#include <cmath>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// Thousandths of a percent.
using Weight = std::int64_t;
inline constexpr Weight kWholeWeight = 100'000;

// Nanoseconds of device time that the whole weight would have had.
using Virtual = std::int64_t;

inline Virtual virtualOf(double used, Weight weight) {
  return std::llround(used * static_cast<double>(kWholeWeight) / static_cast<double>(weight));
}
// Device time after which `weight` has advanced by `distance`.
inline double usedFor(Virtual distance, Weight weight) {
  return static_cast<double>(distance) * static_cast<double>(weight) /
         static_cast<double>(kWholeWeight);
}

}  // namespace divvy::arbiter
