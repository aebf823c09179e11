#include "fit/device_order.h"

#include <algorithm>
#include <tuple>

namespace divvy::engine {
namespace {

// In millionths of the total; a total of 0 counts as used up.
std::int64_t usedShare(std::int64_t all, std::int64_t left) {
  constexpr std::int64_t kScale = 1'000'000;
  if (all <= 0) return kScale;
  return static_cast<std::int64_t>(static_cast<__int128>(all - left) * kScale / all);
}

std::int64_t usedOf(const UseWeights& use, const Device& device, const DeviceRoom& room) {
  return use.slots * usedShare(device.slots, room.slots) +
         use.compute * usedShare(device.compute.milli, room.compute) +
         use.memory * usedShare(room.memory_total, room.memory);
}

// Orders by NUMA node first if the policy prefers one; for binpack the lowest first.
std::int64_t numaFirst(const DevicePolicy& policy, const Device& device) {
  if (policy.numa == Preference::kNone) return 0;
  const auto numa = static_cast<std::int64_t>(device.numa.value_or(0));
  return policy.order == DeviceOrder::kBinpack ? numa : -numa;
}

// HAMi's order: among equals the higher NUMA node first, then the last device.
void arrangeAsHami(const DevicePolicy& policy, const Node& node, const DeviceRoom* rooms,
                   DeviceList* list) {
  using HamiRank = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;
  std::array<HamiRank, kMaxDevicesPerNode> places;
  for (std::uint8_t k = 0; k < list->count; ++k) {
    const std::uint8_t i = list->at[k];
    const Device& device = node.devices[i];
    const bool nothing =
        device.slots == 0 || device.compute.milli == 0 || rooms[i].memory_total == 0;
    const std::int64_t used = nothing ? 0 : usedOf(policy.use, device, rooms[i]);
    places[i] = {numaFirst(policy, device), policy.order == DeviceOrder::kBinpack ? -used : used,
                 -static_cast<std::int64_t>(device.numa.value_or(0)), -static_cast<int>(i)};
  }
  std::sort(list->at.begin(), list->at.begin() + list->count,
            [&](std::uint8_t a, std::uint8_t b) { return places[a] < places[b]; });
}

}  // namespace

std::pair<std::int64_t, std::int64_t> tightness(const DeviceRoom& room,
                                                const DeviceDemand& demand) {
  if (room.weight) return {demand.compute > room.compute || room.compute == 0 ? 1 : 0, 0};
  return {room.compute, room.memory};
}

void arrangeTightest(const DeviceDemand& demand, const DeviceRoom* rooms, DeviceList* list) {
  std::stable_sort(list->at.begin(), list->at.begin() + list->count,
                   [&](std::uint8_t a, std::uint8_t b) {
                     return tightness(rooms[a], demand) < tightness(rooms[b], demand);
                   });
}

void arrange(const ShapeClass& shape, const Node& node, const DeviceRoom* rooms, DeviceList* list) {
  const DevicePolicy& policy = shape.devices();
  if (shape.hami()) return arrangeAsHami(policy, node, rooms, list);
  std::array<std::int64_t, kMaxDevicesPerNode> used{};
  const bool least = policy.order == DeviceOrder::kSpread;
  for (std::uint8_t k = 0; k < list->count; ++k) {
    const std::uint8_t i = list->at[k];
    used[i] = usedOf(policy.use, node.devices[i], rooms[i]) * (least ? 1 : -1);
  }
  std::sort(list->at.begin(), list->at.begin() + list->count, [&](std::uint8_t a, std::uint8_t b) {
    return std::tie(used[a], a) < std::tie(used[b], b);
  });
}

}  // namespace divvy::engine
