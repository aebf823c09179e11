// Orders of devices: by use, by HAMi's rules, by tightness.
#pragma once

#include <utility>

#include "fit/fit.h"

namespace divvy::engine {

// Sorts `list` by the shape's policy. `rooms`: free capacity of each device, by its index in the
// node.
void arrange(const ShapeClass& shape, const Node& node, const DeviceRoom* rooms, DeviceList* list);

// Key of tightness; the lowest goes first. Where compute is a weight, devices with compute left
// precede the others.
std::pair<std::int64_t, std::int64_t> tightness(const DeviceRoom& room, const DeviceDemand& demand);
// Sorts by tightness. The sort is stable.
void arrangeTightest(const DeviceDemand& demand, const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
