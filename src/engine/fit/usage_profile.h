// Devices by how their day would go. Private.
#pragma once

#include "fit/fit.h"

namespace divvy::engine {

// Of a shape that goes by the day: sorts devices that are equally tight by their peak with the ask,
// the lowest first, and those whose peak is to be avoided behind all others.
void sortByPeakLoad(const HotState& state, const ShapeClass& shape, Slot slot, const Ask& ask,
                    const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
