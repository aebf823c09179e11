// Expected use of the tenants of one device in each hour. Private.
#pragma once

#include <array>
#include <cstdint>

#include "engine/allocation.h"

namespace divvy::engine {

// Sums over tenants that state their use by hour. `compute` and `memory` are the sums of what they
// were given; the rest belongs to tenants that state nothing.
struct HourlyLoad {
  std::array<std::int64_t, kHours> compute_at{}, memory_at{};
  std::int64_t compute = 0, memory = 0;

  void add(std::int64_t of_compute, std::int64_t of_memory, const UsageByHour& daily, int sign);
};

struct DeviceSize {
  std::int64_t compute = 0, memory = 0;
};
// Returns the peak in thousandths of the device, rounded up, at most kMaxPeak: the larger of
// compute and memory. `used`: by all tenants. A quantity that the device does not have counts as 0.
std::uint32_t peakOf(const HourlyLoad& load, const DeviceSize& size, const DeviceSize& used);

}  // namespace divvy::engine
