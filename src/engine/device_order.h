// Which devices go first, where it is not simply the tightest.
#pragma once

#include "fit.h"

namespace divvy::engine {

// Sorts what is in `list`. `rooms`: what is left of each device of the node, by its place.
void arrange(const ShapeClass& shape, const Node& node, const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
