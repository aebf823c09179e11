// Which devices go first, where it is not simply the tightest.
#pragma once

#include <utility>

#include "fit/fit.h"

namespace divvy::engine {

// Sorts what is in `list`. `rooms`: what is left of each device of the node, by its place.
void arrange(const ShapeClass& shape, const Node& node, const DeviceRoom* rooms, DeviceList* list);

// How tight one is for it: the least goes first. Where compute is a weight, those that have it
// left.
std::pair<std::int64_t, std::int64_t> tightness(const DeviceRoom& room, const Ask& ask);
// Sorts by that, equal ones as they come.
void arrangeTightest(const Ask& ask, const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
