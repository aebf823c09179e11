#include "fit/plan_bounds.h"

#include <algorithm>

namespace divvy::engine {

RemainingDemand::RemainingDemand(std::span<const DeviceDemand> demands,
                                 std::span<const DeviceRoom> rooms,
                                 const std::function<bool(const DeviceDemand&, std::size_t)>& fits)
    : from_(demands.size() + 1) {
  // A compute weight refuses nothing, and memory with terms is not a plain sum.
  const bool weighs =
      std::any_of(rooms.begin(), rooms.end(), [](const DeviceRoom& room) { return room.weight; });
  const bool terms = std::any_of(rooms.begin(), rooms.end(),
                                 [](const DeviceRoom& room) { return room.accounts != nullptr; });
  for (std::size_t at = demands.size(); at-- > 0;) {
    const DeviceDemand& demand = demands[at];
    std::uint32_t good = 0;
    std::int64_t memory = INT64_MAX;
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      if (!fits(demand, i)) continue;
      ++good;
      memory = std::min(memory, bytesOf(demand, rooms[i].memory_total));
    }
    possible_ = possible_ && good >= demand.count;
    const DemandSum& later = from_[at + 1];
    from_[at] = {later.memory + (terms || good == 0 ? 0 : demand.count * memory),
                 later.compute + (weighs ? 0 : std::int64_t{demand.count} * demand.compute),
                 later.slots + demand.count};
  }
}

bool RemainingDemand::enoughFrom(std::size_t at, std::span<const DeviceRoom> rooms,
                                 std::span<const std::uint8_t> verdicts) const {
  DemandSum left;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (verdicts[i] != kOpen) continue;
    left.memory += std::max<std::int64_t>(rooms[i].memory, 0);
    left.compute += std::max(rooms[i].compute, 0);
    left.slots += std::max(rooms[i].slots, 0);
  }
  const DemandSum& need = from_[at];
  return need.memory <= left.memory && need.compute <= left.compute && need.slots <= left.slots;
}

std::string imageOf(const Node& node, std::span<const DeviceRoom> rooms,
                    std::span<const std::uint8_t> verdicts) {
  std::string image;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    const DeviceRoom& room = rooms[i];
    const Device& device = node.devices[i];
    for (const std::int64_t value :
         {std::int64_t{room.compute}, std::int64_t{room.slots}, room.memory, room.memory_total,
          std::int64_t{room.idle}, std::int64_t{room.kind}, std::int64_t{room.weight},
          std::int64_t{room.use}, std::int64_t{room.sorts}, std::int64_t{verdicts[i]},
          std::int64_t{device.slots}, std::int64_t{device.compute.milli},
          device.numa ? std::int64_t{*device.numa} : -1})
      image.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return image;
}

}  // namespace divvy::engine
