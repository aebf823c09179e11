#include "nodes/hot_state.h"

#include <algorithm>

namespace divvy::engine {
namespace {

constexpr auto why(DeviceWhy reason) {
  return static_cast<std::uint8_t>(reason);
}

std::uint8_t closedBy(const Device& device, std::uint32_t former_pool_tenants) {
  if (device.health != Health::kHealthy) return why(DeviceWhy::kUnhealthy);
  if (device.cordoned) return why(DeviceWhy::kCordoned);
  if (device.mode == Mode::kExternal) return why(DeviceWhy::kHeldByOtherPlugin);
  if (former_pool_tenants > 0) return why(DeviceWhy::kPreviousPoolTenants);
  if (device.mode == Mode::kMig) return why(DeviceWhy::kPartitioned);
  return kOpen;
}

std::uint8_t sumsOf(const Node& node) {
  std::uint8_t sums = kNoSums;
  for (const Device& device : node.devices) {
    if (device.terms.overcommit_permille > kNoOvercommit) sums |= kHostMemory;
    if (device.compute_rule == ComputeRule::kWeight) sums |= kWeights;
  }
  if (hasArrangement(node)) sums |= kArranged;
  if (!node.merits.empty()) sums |= kMerits;
  return sums;
}

void chargeDevice(const Charge& charge, int sign, UsedDevice& used) {
  const auto bytes = [&](Bytes of) { return sign * static_cast<std::int64_t>(of.count); };
  used.compute += sign * charge.compute.milli;
  used.memory += bytes(charge.memory);
  used.outside += bytes(charge.outside);
  used.swappable += bytes(charge.swappable);
  const auto add = [&](std::uint32_t& to, std::uint32_t count) {
    to += static_cast<std::uint32_t>(sign * static_cast<int>(count));
  };
  add(used.slots, charge.slots);
  add(used.parts, charge.parts);
  add(used.shares, charge.shared_too || charge.slots > charge.parts ? 1 : 0);
  add(used.cpus, charge.cpus);
  auto& alike = used.sorts[charge.sort % kSorts];
  alike = static_cast<std::uint16_t>(alike + sign);
  for (std::size_t bit = 0; bit < used.slices.size(); ++bit) {
    const int taken = charge.slices >> bit & 1;
    used.slices[bit] = static_cast<std::uint8_t>(used.slices[bit] + sign * taken);
  }
  if (charge.largest.count == 0) return;
  if (sign > 0) {
    used.largest.insert(charge.largest.count);
  } else if (const auto at = used.largest.find(charge.largest.count); at != used.largest.end()) {
    used.largest.erase(at);
  }
}

template <typename... Vectors>
void grow(std::size_t size, Vectors&... vectors) {
  (vectors.resize(size), ...);
}

}  // namespace

ModelId HotState::idOf(const Device& described, const PoolName& pool) {
  const auto [at, added] = ids_.try_emplace(std::tuple(described.model, described.kind, pool),
                                            static_cast<ModelId>(models_.size()));
  if (!added) return at->second;
  const auto kind = kinds_.try_emplace(described.kind, static_cast<KindId>(kinds_.size())).first;
  models_.push_back({described.model, described.kind, kind->second, pool});
  return at->second;
}

Slot HotState::put(const Node& described, const Pools& pools) {
  Slot slot = 0;
  if (free_.empty()) {
    slot = static_cast<Slot>(cold.size());
    grow(cold.size() + 1, cold, room_, node.cpu, node.cpu_free, node.memory_free, node.first,
         node.devices, node.model, node.open, node.sums, node.compute_free, node.largest, node.idle,
         node.fragment, node.kinds);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  describe(slot, described, pools);
  return slot;
}

void HotState::describe(Slot slot, const Node& described, const Pools& pools) {
  ColdNode& cold_node = cold[slot];
  cold_node = ColdNode{described, true, 0, 0, {}, {}, {}, Topology(described)};
  const std::size_t count = described.devices.size();
  cold_node.used.resize(count);
  if (room_[slot] < count) {
    node.first[slot] = static_cast<std::uint32_t>(device.closed.size());
    room_[slot] = static_cast<std::uint16_t>(count);
    grow(device.closed.size() + count, device.compute_free, device.slots_free, device.memory_free,
         device.memory_total, device.tenants, device.model, device.kind, device.use, device.closed,
         device.weight, device.sorts, device.terms, device.accounts);
  }
  node.devices[slot] = static_cast<std::uint16_t>(count);
  const std::uint32_t first = node.first[slot];
  for (std::size_t i = 0; i < count; ++i) {
    const Pool* pool = pools.of(described, described.devices[i]);
    device.model[first + i] = idOf(described.devices[i], pool == nullptr ? PoolName() : pool->name);
    device.kind[first + i] = models_[device.model[first + i]].kind_id;
    device.closed[first + i] = closedBy(described.devices[i], 0);
    device.memory_total[first + i] = static_cast<std::int64_t>(described.devices[i].memory.count);
    device.weight[first + i] = described.devices[i].compute_rule == ComputeRule::kWeight ? 1 : 0;
    device.terms[first + i] = described.devices[i].terms == OvercommitPolicy{} ? 0 : 1;
  }
  node.sums[slot] = sumsOf(described);
  ModelId model = count == 0 ? kMixed : device.model[first];
  for (std::size_t i = 1; i < count; ++i) {
    if (device.model[first + i] != model) model = kMixed;
  }
  node.model[slot] = model;
  refresh(slot);
}

void HotState::remove(Slot slot) {
  describe(slot, Node{}, Pools());
  cold[slot].there = false;
  refresh(slot);
  free_.push_back(slot);
}

void HotState::charge(Slot slot, const Placement& placement, int sign) {
  ColdNode& at = cold[slot];
  at.cpu_used += sign * placement.cpu.milli;
  at.memory_used += sign * static_cast<std::int64_t>(placement.memory.count);
  auto& kind = at.kinds[std::min<std::size_t>(placement.kind, kKinds - 1)];
  kind = static_cast<std::uint16_t>(kind + sign);
  if (placement.daily && at.loads.empty()) at.loads.resize(at.node.devices.size());
  for (const Charge& charge : placement.charges) {
    for (std::size_t i = 0; i < at.node.devices.size(); ++i) {
      if (at.node.devices[i].uuid != charge.uuid) continue;
      chargeDevice(charge, sign, at.used[i]);
      if (placement.daily) {
        at.loads[i].add(charge.compute.milli, static_cast<std::int64_t>(charge.memory.count),
                        *placement.daily, sign);
      }
      if (placement.pool != poolOf(slot, i))
        at.used[i].former_pool_tenants += static_cast<std::uint32_t>(sign);
      break;
    }
  }
  refresh(slot);
}

void HotState::refreshDevice(const ColdNode& at, std::size_t index, std::uint32_t hot) {
  const Device& described = at.node.devices[index];
  const UsedDevice& used = at.used[index];
  if (used.former_pool_tenants > 0 || device.closed[hot] == why(DeviceWhy::kPreviousPoolTenants))
    device.closed[hot] = closedBy(described, used.former_pool_tenants);
  const bool open = device.closed[hot] == kOpen;
  const bool whole = described.mode == Mode::kWhole;
  const std::int64_t slots = described.mode == Mode::kExclusive || whole
                                 ? std::min<std::int64_t>(described.slots, 1)
                                 : described.slots;
  // If more is used than exists (a device shrank), nothing is left.
  const auto left = [](std::int64_t all, std::int64_t taken) {
    return std::max<std::int64_t>(all - taken, 0);
  };
  device.compute_free[hot] =
      open ? static_cast<std::int32_t>(left(described.compute.milli, used.compute)) : 0;
  device.memory_free[hot] = left(device.memory_total[hot], used.memory);
  if (device.terms[hot] != 0) {
    const auto bytes = [](std::int64_t of) { return Bytes{static_cast<std::uint64_t>(of)}; };
    const Bytes largest{used.largest.empty() ? 0 : *used.largest.rbegin()};
    const MemoryAccounts accounts{described.memory,
                                  described.terms,
                                  bytes(used.memory),
                                  bytes(used.outside),
                                  bytes(used.memory - used.outside - used.swappable),
                                  largest};
    device.accounts[hot] = accounts;
    device.memory_free[hot] = static_cast<std::int64_t>(accounts.free().count);
  }
  device.slots_free[hot] = static_cast<std::int32_t>(left(slots, used.slots));
  device.tenants[hot] = used.slots;
  std::uint16_t sorts = 0;
  for (std::size_t sort = 1; sort < used.sorts.size(); ++sort)
    if (used.sorts[sort] > 0) sorts |= static_cast<std::uint16_t>(1u << sort);
  device.sorts[hot] = sorts;
  device.use[hot] = static_cast<std::uint8_t>(
      (used.parts > 0 ? kInParts : 0) | (used.shares > 0 ? kByTime : 0) | (whole ? kWholeOnly : 0));
}

Bytes HotState::hostLeft(Slot slot) const {
  Bytes beyond;
  for (std::size_t i = 0; i < node.devices[slot]; ++i) {
    const std::uint32_t hot = node.first[slot] + static_cast<std::uint32_t>(i);
    if (device.terms[hot] != 0) beyond = beyond + device.accounts[hot].beyond();
  }
  return cold[slot].node.host_reserve - beyond;
}

void HotState::refresh(Slot slot) {
  const ColdNode& at = cold[slot];
  const std::uint32_t first = node.first[slot];
  std::int64_t compute = 0;
  std::int32_t largest = 0;
  std::uint16_t idle = 0;
  for (std::size_t i = 0; i < at.used.size(); ++i) {
    const std::uint32_t hot = first + static_cast<std::uint32_t>(i);
    refreshDevice(at, i, hot);
    const std::int32_t free = device.compute_free[hot];
    compute += free;
    largest = std::max(largest, free);
    if (free == kWholeDevice.milli && device.tenants[hot] == 0) ++idle;
  }
  node.largest[slot] = largest;
  node.idle[slot] = idle;
  node.compute_free[slot] = compute;
  node.cpu[slot] = at.node.cpu.milli;
  node.cpu_free[slot] = std::max<std::int64_t>(at.node.cpu.milli - at.cpu_used, 0);
  node.memory_free[slot] =
      std::max<std::int64_t>(static_cast<std::int64_t>(at.node.memory.count) - at.memory_used, 0);
  node.open[slot] = at.there && !at.node.cordoned ? 1 : 0;
  node.kinds[slot] = at.kinds;
}

}  // namespace divvy::engine
