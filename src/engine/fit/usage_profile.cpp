#include "fit/usage_profile.h"

#include <algorithm>
#include <tuple>

#include "fit/device_order.h"
#include "fit/plan.h"

namespace divvy::engine {

std::uint32_t peakLevelOf(std::uint32_t peak) {
  return std::min(peak * kPeakLevels / kMaxPeak, kPeakLevels - 1);
}

bool isCalm(const ShapeClass& shape, std::uint32_t peak) {
  const std::uint32_t most = shape.daily().avoid_above;
  return most == 0 || peak <= most;
}

std::uint32_t peakOn(const ColdNode& cold, std::size_t i, const ShapeClass& shape,
                     std::int64_t compute, std::int64_t memory) {
  HourlyLoad load;
  if (!cold.loads.empty()) load = cold.loads[i];
  load.add(compute, memory, *shape.shape().daily, 1);
  const Device& device = cold.node.devices[i];
  return peakOf(load, {device.compute.milli, static_cast<std::int64_t>(device.memory.count)},
                {cold.used[i].compute + compute, cold.used[i].memory + memory});
}

void sortByPeakLoad(const HotState& state, const ShapeClass& shape, Slot slot,
                    const DeviceDemand& demand, const DeviceRoom* rooms, DeviceList* list) {
  struct DeviceRank {
    bool avoided;
    std::pair<std::int64_t, std::int64_t> tightness;
    std::uint32_t level;
  };
  std::array<DeviceRank, kMaxDevicesPerNode> places;
  for (std::uint8_t k = 0; k < list->count; ++k) {
    const std::uint8_t i = list->at[k];
    const std::int64_t memory = peakUseOf(demand, state, state.node.first[slot] + i).memory;
    const std::uint32_t peak = peakOn(state.cold[slot], i, shape, demand.compute, memory);
    places[i] = {!isCalm(shape, peak), tightness(rooms[i], demand),
                 shape.daily().ties ? peakLevelOf(peak) : 0};
  }
  const auto rank = [&](std::uint8_t i) {
    return std::tie(places[i].avoided, places[i].tightness, places[i].level);
  };
  std::stable_sort(list->at.begin(), list->at.begin() + list->count,
                   [&](std::uint8_t a, std::uint8_t b) { return rank(a) < rank(b); });
}

}  // namespace divvy::engine
