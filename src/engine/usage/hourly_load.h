// What tenants of one device are expected to use in each hour. Private.
#pragma once

#include <array>
#include <cstdint>

#include "engine/allocation.h"

namespace divvy::engine {

// Sums over those who say how their day goes; `compute` and `memory` of what they were given, so
// that what the others have is the rest.
struct HourlyLoad {
  std::array<std::int64_t, kHours> compute_at{}, memory_at{};
  std::int64_t compute = 0, memory = 0;

  void add(std::int64_t of_compute, std::int64_t of_memory, const UsageByHour& daily, int sign);
};

struct DeviceSize {
  std::int64_t compute = 0, memory = 0;
};
// In thousandths of what the device has, rounded up; at most kMaxPeak. `used`: by all. What is
// there of a device but nothing of one of the two goes by the other.
std::uint32_t peakOf(const HourlyLoad& load, const DeviceSize& size, const DeviceSize& used);

}  // namespace divvy::engine
