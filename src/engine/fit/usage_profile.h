// Order of devices by expected use over the day. Private.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fit/fit.h"

namespace divvy::engine {

// Number of levels of a peak: 32 for each whole device, coarse, so that among nearly equal devices
// the first one wins.
inline constexpr unsigned kPeakBits = 7;
inline constexpr std::uint32_t kPeakLevels = 1u << kPeakBits;
std::uint32_t peakLevelOf(std::uint32_t peak);

// In the following functions the shape has use by hour.
//
// Returns true if the peak is not above the limit that the shape avoids.
bool isCalm(const ShapeClass& shape, std::uint32_t peak);
// Returns the peak of device `i` of the node with `compute` and `memory` of the shape added.
std::uint32_t peakOn(const ColdNode& cold, std::size_t i, const ShapeClass& shape,
                     std::int64_t compute, std::int64_t memory);

// Sorts equally tight devices by their peak with the ask, lowest
// first. Devices with a peak above the limit to avoid are last.
void sortByPeakLoad(const HotState& state, const ShapeClass& shape, Slot slot,
                    const DeviceDemand& demand, const DeviceRoom* rooms, DeviceList* list);

}  // namespace divvy::engine
