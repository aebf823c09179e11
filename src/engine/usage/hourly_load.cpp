#include "usage/hourly_load.h"

#include <algorithm>

namespace divvy::engine {
namespace {

std::int64_t part(std::int64_t of, std::uint16_t permille) {
  return static_cast<std::int64_t>(static_cast<__int128>(of) * permille / kAllOfIt);
}

std::int64_t permilleOf(std::int64_t used, std::int64_t all) {
  if (all <= 0) return 0;
  const auto permille = (static_cast<__int128>(used) * 1000 + all - 1) / all;
  return static_cast<std::int64_t>(std::clamp<__int128>(permille, 0, kMaxPeak));
}

}  // namespace

void HourlyLoad::add(std::int64_t of_compute, std::int64_t of_memory, const UsageByHour& daily,
                     int sign) {
  for (std::size_t hour = 0; hour < kHours; ++hour) {
    compute_at[hour] += sign * part(of_compute, daily.permille[hour]);
    memory_at[hour] += sign * part(of_memory, daily.permille[hour]);
  }
  compute += sign * of_compute;
  memory += sign * of_memory;
}

std::uint32_t peakOf(const HourlyLoad& load, const DeviceSize& size, const DeviceSize& used) {
  const std::int64_t compute = *std::max_element(load.compute_at.begin(), load.compute_at.end());
  const std::int64_t memory = *std::max_element(load.memory_at.begin(), load.memory_at.end());
  return static_cast<std::uint32_t>(
      std::max(permilleOf(used.compute - load.compute + compute, size.compute),
               permilleOf(used.memory - load.memory + memory, size.memory)));
}

}  // namespace divvy::engine
