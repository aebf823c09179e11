// Order of devices by expected use over the day. Private.
#pragma once

#include "fit/fit.h"

namespace divvy::engine {

// For a shape with use by hour. Sorts equally tight devices by their peak with the ask, lowest
// first. Devices with a peak above the limit to avoid are last.
void sortByPeakLoad(const HotState& state, const ShapeClass& shape, Slot slot, const Ask& ask,
                    const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
