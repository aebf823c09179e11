#include "device_order.h"

#include <algorithm>
#include <tuple>

namespace divvy::engine {
namespace {

// Millionths of what there is; nothing is all used.
std::int64_t usedShare(std::int64_t all, std::int64_t left) {
  constexpr std::int64_t kScale = 1'000'000;
  if (all <= 0) return kScale;
  return static_cast<std::int64_t>(static_cast<__int128>(all - left) * kScale / all);
}

std::int64_t usedOf(const Device& device, const DeviceRoom& room) {
  return usedShare(device.slots, room.slots) + usedShare(device.compute.milli, room.compute) +
         usedShare(room.memory_total, room.memory);
}

}  // namespace

void arrange(const ShapeClass& shape, const Node& node, const DeviceRoom* rooms, DeviceList* list) {
  std::array<std::int64_t, kMaxDevicesPerNode> used{};
  const bool least = shape.devices().order == DeviceOrder::kSpread;
  for (std::uint8_t k = 0; k < list->count; ++k) {
    const std::uint8_t i = list->at[k];
    used[i] = usedOf(node.devices[i], rooms[i]) * (least ? 1 : -1);
  }
  std::sort(list->at.begin(), list->at.begin() + list->count, [&](std::uint8_t a, std::uint8_t b) {
    return std::tie(used[a], a) < std::tie(used[b], b);
  });
}

}  // namespace divvy::engine
