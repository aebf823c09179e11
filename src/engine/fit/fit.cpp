#include "fit/fit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fit/block_topology.h"
#include "fit/device_order.h"
#include "fit/group_rules.h"
#include "fit/plan.h"

namespace divvy::engine {
namespace {

constexpr auto why(DeviceWhy reason) {
  return static_cast<std::uint8_t>(reason);
}

constexpr std::uint32_t kAllMemory = 100;

bool ofKind(const DeviceRoom& room, const DeviceDemand& demand) {
  return demand.kind == kAnyKind || demand.kind == room.kind;
}

constexpr std::size_t kDeviceWhys = why(DeviceWhy::kHeld) + 1;

bool aboutMemory(DeviceWhy reason) {
  return reason >= DeviceWhy::kTooLarge && reason <= DeviceWhy::kHostReserve;
}

// Checks the device's model and UUID against the selector.
std::uint8_t chosenBy(const HotState& state, const ShapeClass& shape, Slot slot, std::size_t index,
                      std::uint8_t model) {
  if (model != kOpen || !shape.namesDevices()) return model;
  return shape.verdict(state.cold[slot].node.devices[index]);
}

// Orders by tightness. Insertion sort, because there are few devices.
void insert(const HotDevices& device, std::uint32_t first, std::uint8_t index, Candidates& into) {
  const auto tighter = [&](std::uint8_t a, std::uint8_t b) {
    if (device.compute_free[first + a] != device.compute_free[first + b]) {
      return device.compute_free[first + a] < device.compute_free[first + b];
    }
    return device.memory_free[first + a] < device.memory_free[first + b];
  };
  std::uint8_t at = into.count++;
  for (; at > 0 && tighter(index, into.at[at - 1]); --at) into.at[at] = into.at[at - 1];
  into.at[at] = index;
}

std::optional<MemoryRefusal> refuseMemory(const DeviceRoom& room, const DeviceDemand& demand,
                                          Bytes host_left) {
  const auto bytes = [](std::int64_t of) { return Bytes{static_cast<std::uint64_t>(of)}; };
  MemoryAccounts plain;
  if (room.accounts == nullptr) {
    plain.physical = bytes(room.memory_total);
    plain.reserved = bytes(room.memory_total - room.memory);
  }
  const MemoryAccounts& accounts = room.accounts == nullptr ? plain : *room.accounts;
  const Part part = partOf(demand, accounts);
  if (auto refusal = refuseEver(accounts, part, guaranteeOf(demand, accounts))) return refusal;
  return refuseNow(accounts, part, host_left);
}

std::uint8_t verdictOnMemory(const DeviceRoom& room, const DeviceDemand& demand, Bytes host_left) {
  const bool quick = room.accounts == nullptr && !demand.guarantee;
  if (quick && bytesOf(demand, room.memory_total) <= room.memory) return kOpen;
  const auto refusal = refuseMemory(room, demand, host_left);
  return refusal ? why(refusal->why) : kOpen;
}

DeviceRefusal describe(const HotState& state, Slot slot, std::size_t index, std::uint8_t verdict,
                       const DeviceDemand& demand, Bytes host_left) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  DeviceRefusal refusal{state.cold[slot].node.devices[index].uuid, static_cast<DeviceWhy>(verdict),
                        0, 0};
  if (refusal.why == DeviceWhy::kNotInPool || refusal.why == DeviceWhy::kPreviousPoolTenants) {
    refusal.pool = state.poolOf(slot, index);
  } else if (refusal.why == DeviceWhy::kSlots) {
    refusal.needed = 1;
    refusal.available = static_cast<std::uint64_t>(state.device.slots_free[hot]);
  } else if (aboutMemory(refusal.why)) {
    const std::optional<MemoryRefusal> memory = refuseMemory(roomOf(state, hot), demand, host_left);
    refusal.needed = memory->needed.count;
    refusal.available = memory->available.count;
  } else if (refusal.why == DeviceWhy::kCompute) {
    refusal.needed = static_cast<std::uint64_t>(demand.compute);
    refusal.available = static_cast<std::uint64_t>(state.device.compute_free[hot]);
  }
  return refusal;
}

// Enough devices fit, but they do not form a group.
std::optional<NodeRefusal> refuseGroup(const HotState& state, const ShapeClass& shape, Slot slot,
                                       const DeviceDemand& demand, const DeviceList& all) {
  if (!groupedOn(state, shape, slot)) return std::nullopt;
  const Groups groups = groupsFor(state, shape, slot);
  if (groups.best(all, demand.count).group) return std::nullopt;
  NodeRefusal refusal = groups.refusal(all, demand.count);
  refusal.kind = shape.requestOf(demand).kind;
  refusal.container = demand.container;
  return refusal;
}

std::optional<DeviceRefusal> refusePart(const HotState& state, const ShapeClass& shape, Slot slot,
                                        std::size_t index, const DeviceDemand& demand) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const DeviceRoom room = roomOf(state, hot);
  const Device& device = state.cold[slot].node.devices[index];
  const auto no = [&](DeviceRefusal refusal) {
    refusal.uuid = device.uuid;
    return refusal;
  };
  std::uint8_t verdict = ofKind(room, demand) ? kOpen : why(DeviceWhy::kKind);
  if (verdict == kOpen) verdict = partVerdictOn(state, shape, slot, index);
  const Partitioning* parting = partitioningOf(device);
  const PartRequest wish = partRequestOf(shape, demand, room.memory_total);
  const PartRoom left = partRoomOf(state, slot, index);
  const bool way = parting != nullptr && !waysFor(*parting, left, wish).empty();
  const DeviceRefusal none = parting == nullptr ? DeviceRefusal{{}, DeviceWhy::kNoPart, 0, 0}
                                                : whyNoWay(*parting, left, wish);
  if (verdict == kOpen && !way && none.why == DeviceWhy::kNoPart) return no(none);
  if (verdict == kOpen) verdict = partVerdictOn(room, demand);
  if (verdict != kOpen) return describe(state, slot, index, verdict, demand, Bytes{});
  if (way) return std::nullopt;
  return no(none);
}

// For one ask that is not for partitions, with no other ask placed.
std::uint8_t verdictOne(const HotState& state, const ShapeClass& shape, Slot slot,
                        std::size_t index, const DeviceDemand& demand, Bytes host_left) {
  const DeviceRoom room = roomOf(state, state.node.first[slot] + static_cast<std::uint32_t>(index));
  std::uint8_t verdict = ofKind(room, demand) ? kOpen : why(DeviceWhy::kKind);
  if (verdict == kOpen) verdict = verdictOn(state, shape, slot, index);
  if (verdict == kOpen) verdict = verdictOn(room, demand, host_left);
  return verdict;
}

// For one ask, with no other ask placed.
std::optional<DeviceRefusal> refuseOne(const HotState& state, const ShapeClass& shape, Slot slot,
                                       std::size_t index, const DeviceDemand& demand,
                                       Bytes host_left) {
  if (demand.part) return refusePart(state, shape, slot, index, demand);
  const std::uint8_t verdict = verdictOne(state, shape, slot, index, demand, host_left);
  if (verdict == kOpen) return std::nullopt;
  return describe(state, slot, index, verdict, demand, host_left);
}

// Refuses if too few devices fit this ask alone.
std::optional<NodeRefusal> refuseAsk(const HotState& state, const ShapeClass& shape, Slot slot,
                                     const DeviceDemand& demand) {
  NodeRefusal refusal;
  DeviceList good;
  const Bytes host_left = state.hostLeft(slot);
  for (std::size_t i = 0; i < state.node.devices[slot]; ++i) {
    std::optional<DeviceRefusal> no = refuseOne(state, shape, slot, i, demand, host_left);
    if (!no) good.at[good.count++] = static_cast<std::uint8_t>(i);
    if (no) refusal.devices.push_back(std::move(*no));
  }
  if (good.count >= demand.count && demand.part) return std::nullopt;
  if (good.count >= demand.count) return refuseGroup(state, shape, slot, demand, good);
  refusal.why = NodeWhy::kDevices;
  refusal.needed = demand.count;
  refusal.available = good.count;
  refusal.container = demand.container;
  refusal.kind = shape.requestOf(demand).kind;
  return refusal;
}

NodeRefusal describe(const HotState& state, const ShapeClass& shape, Slot slot, NodeWhy reason) {
  NodeRefusal refusal;
  refusal.why = reason;
  if (reason == NodeWhy::kCpu) {
    refusal.needed = static_cast<std::uint64_t>(shape.cpu());
    refusal.available = static_cast<std::uint64_t>(state.node.cpu_free[slot]);
  } else if (reason == NodeWhy::kMemory) {
    refusal.needed = static_cast<std::uint64_t>(shape.memory());
    refusal.available = static_cast<std::uint64_t>(state.node.memory_free[slot]);
  } else if (reason == NodeWhy::kTooFew) {
    refusal.needed = shape.widest();
    refusal.available = state.node.devices[slot];
    for (const std::vector<DeviceDemand>* demands : {&shape.containers(), &shape.init()}) {
      for (const DeviceDemand& demand : *demands) {
        if (demand.count == shape.widest()) refusal.container = demand.container;
      }
    }
  }
  return refusal;
}

// The request excludes these devices. The refusal reports what the other devices lack.
bool notMeant(std::size_t reason) {
  constexpr DeviceWhy kNotMeant[] = {DeviceWhy::kKind,          DeviceWhy::kNotInPool,
                                     DeviceWhy::kModelNotAsked, DeviceWhy::kModelExcluded,
                                     DeviceWhy::kUuidNotAsked,  DeviceWhy::kUuidExcluded};
  return std::any_of(std::begin(kNotMeant), std::end(kNotMeant),
                     [&](DeviceWhy one) { return why(one) == reason; });
}

// The most frequent reason among the devices that the request accepts. Among equals the reason that
// is checked last, because it is nearest to a fit.
DeviceWhy mostOf(const std::array<std::uint16_t, kDeviceWhys>& counts) {
  std::size_t most = why(DeviceWhy::kKind);
  for (std::size_t at = most + 1; at < counts.size(); ++at) {
    const bool better = notMeant(at) == notMeant(most)
                            ? counts[at] >= counts[most] || most == why(DeviceWhy::kKind)
                            : notMeant(most);
    if (counts[at] > 0 && better) most = at;
  }
  return static_cast<DeviceWhy>(most);
}

// As refuseAsk, without details of each device.
std::optional<CompactRefusal> briefAsk(const HotState& state, const ShapeClass& shape, Slot slot,
                                       const DeviceDemand& demand) {
  std::array<std::uint16_t, kDeviceWhys> counts{};
  DeviceList good;
  const Bytes host_left = state.hostLeft(slot);
  for (std::size_t i = 0; i < state.node.devices[slot]; ++i) {
    std::uint8_t verdict = kOpen;
    if (!demand.part) {
      verdict = verdictOne(state, shape, slot, i, demand, host_left);
    } else if (const auto no = refusePart(state, shape, slot, i, demand)) {
      verdict = why(no->why);
    }
    if (verdict == kOpen) good.at[good.count++] = static_cast<std::uint8_t>(i);
    if (verdict != kOpen) ++counts[verdict];
  }
  if (good.count >= demand.count && demand.part) return std::nullopt;
  if (good.count >= demand.count) {
    const std::optional<NodeRefusal> no = refuseGroup(state, shape, slot, demand, good);
    if (!no) return std::nullopt;
    return CompactRefusal{{}, no->why, no->container, demand.count, no->kind};
  }
  return CompactRefusal{{},
                        NodeWhy::kDevices,
                        demand.container,
                        demand.count,
                        shape.requestOf(demand).kind,
                        mostOf(counts)};
}

// The checks before any search.
std::optional<NodeRefusal> refusalAlone(const HotState& state, const ShapeClass& shape, Slot slot) {
  if (const std::optional<NodeWhy> reason = refuseNode(state, shape, slot)) {
    return describe(state, shape, slot, *reason);
  }
  for (const DeviceDemand* demand : demandsInOrder(shape)) {
    if (auto refusal = refuseAsk(state, shape, slot, *demand)) return refusal;
  }
  return std::nullopt;
}

NodeWhy whyOf(PlanOutcome end) {
  if (end == PlanOutcome::kPutOff) return NodeWhy::kNotSearched;
  return end == PlanOutcome::kGaveUp ? NodeWhy::kUnresolved : NodeWhy::kTogether;
}

}  // namespace

DeviceRoom roomOf(const HotState& state, std::uint32_t device) {
  const HotDevices& hot = state.device;
  return {hot.compute_free[device], hot.slots_free[device],
          hot.memory_free[device],  hot.memory_total[device],
          hot.tenants[device] == 0, hot.kind[device],
          hot.weight[device] != 0,  hot.terms[device] == 0 ? nullptr : &hot.accounts[device],
          hot.use[device],          hot.sorts[device]};
}

std::uint8_t verdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                       std::size_t index) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const std::uint8_t model = shape.verdict(state.device.model[hot]);
  if (model == why(DeviceWhy::kNotInPool)) return model;
  if (state.device.closed[hot] != kOpen) return state.device.closed[hot];
  return chosenBy(state, shape, slot, index, model);
}

const Partitioning* partitioningOf(const Device& device) {
  if (device.parting == nullptr) return nullptr;
  const bool placed = device.parting->slices > 0;
  return placed == (device.mode == Mode::kMig) ? device.parting.get() : nullptr;
}

PartRoom partRoomOf(const HotState& state, Slot slot, std::size_t index) {
  const Device& device = state.cold[slot].node.devices[index];
  const UsedDevice& used = state.cold[slot].used[index];
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const std::uint32_t cpus = device.parting == nullptr ? 0 : device.parting->cpus;
  PartRoom room{
      state.device.memory_free[hot],
      static_cast<std::int32_t>(std::max<std::int64_t>(device.compute.milli - used.compute, 0)),
      cpus > used.cpus ? cpus - used.cpus : 0, 0};
  for (std::size_t bit = 0; bit < used.slices.size(); ++bit) {
    if (used.slices[bit] > 0) room.taken |= 1u << bit;
  }
  return room;
}

PartRequest partRequestOf(const ShapeClass& shape, const DeviceDemand& demand,
                          std::int64_t memory_total) {
  return {*shape.requestOf(demand).part, bytesOf(demand, memory_total), demand.compute};
}

std::uint8_t partVerdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                           std::size_t index) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const std::uint8_t model = shape.verdict(state.device.model[hot]);
  if (model == why(DeviceWhy::kNotInPool)) return model;
  const std::uint8_t closed = state.device.closed[hot];
  if (closed != kOpen && closed != why(DeviceWhy::kPartitioned)) return closed;
  return chosenBy(state, shape, slot, index, model);
}

std::uint8_t partVerdictOn(const DeviceRoom& room, const DeviceDemand& demand) {
  if (!ofKind(room, demand)) return why(DeviceWhy::kKind);
  if (room.slots < 1) return why(DeviceWhy::kSlots);
  return (room.use & kByTime) != 0 ? why(DeviceWhy::kSplit) : kOpen;
}

std::uint8_t verdictOn(const DeviceRoom& room, const DeviceDemand& demand, Bytes host_left) {
  if (!ofKind(room, demand)) return why(DeviceWhy::kKind);
  const bool whole = demand.compute == kWholeDevice.milli && demand.percent == kAllMemory;
  if ((room.use & kWholeOnly) != 0 && !whole) return why(DeviceWhy::kExclusiveOnly);
  if (room.slots < 1) return why(DeviceWhy::kSlots);
  if ((room.use & kInParts) != 0) return why(DeviceWhy::kSplit);
  if ((room.sorts & demand.not_beside) != 0) return why(DeviceWhy::kColocation);
  const std::uint8_t memory = verdictOnMemory(room, demand, host_left);
  if (memory != kOpen) return memory;
  if (!room.weight && demand.compute > room.compute) return why(DeviceWhy::kCompute);
  const bool alone = demand.mutex || (!room.weight && demand.compute == kWholeDevice.milli);
  if (alone && !room.idle) return why(DeviceWhy::kInUse);
  if (!room.weight && demand.compute == 0 && room.compute == 0) return why(DeviceWhy::kHeld);
  return kOpen;
}

bool oneByOne(const HotState& state, const ShapeClass& shape, Slot slot) {
  if (!shape.simple()) return false;
  const std::uint8_t sums = state.node.sums[slot] & ~(kArranged | kMerits);
  return sums == kNoSums || (sums == kHostMemory && shape.widest() <= 1);
}

std::optional<NodeWhy> refuseNode(const HotState& state, const ShapeClass& shape, Slot slot) {
  if (state.node.open[slot] == 0) return NodeWhy::kCordoned;
  if (shape.cpu() > state.node.cpu_free[slot]) return NodeWhy::kCpu;
  if (shape.memory() > state.node.memory_free[slot]) return NodeWhy::kMemory;
  if (shape.widest() > state.node.devices[slot]) return NodeWhy::kTooFew;
  return std::nullopt;
}

Candidates candidatesFor(const HotState& state, const ShapeClass& shape, const DeviceDemand& demand,
                         Slot slot) {
  Candidates result;
  const std::uint32_t first = state.node.first[slot];
  const Bytes host_left = state.node.sums[slot] == kNoSums ? Bytes{} : state.hostLeft(slot);
  for (std::size_t i = 0; i < state.node.devices[slot]; ++i) {
    const std::uint32_t hot = first + static_cast<std::uint32_t>(i);
    // the most frequent reason, and cheap to check
    if (demand.compute > state.device.compute_free[hot]) continue;
    if (verdictOn(state, shape, slot, i) != kOpen) continue;
    if (verdictOn(roomOf(state, hot), demand, host_left) != kOpen) continue;
    insert(state.device, first, static_cast<std::uint8_t>(i), result);
  }
  if (shape.devices().order == DeviceOrder::kTightest) return result;
  std::array<DeviceRoom, kMaxDevicesPerNode> rooms;
  for (std::size_t k = 0; k < result.count; ++k)
    rooms[result.at[k]] = roomOf(state, first + result.at[k]);
  arrange(shape, state.cold[slot].node, rooms.data(), &result);
  return result;
}

std::vector<DeviceRefusal> refusedFor(const HotState& state, const ShapeClass& shape, Slot slot,
                                      std::size_t container) {
  std::vector<DeviceRefusal> refused;
  const Bytes host_left = state.hostLeft(slot);
  for (std::size_t i = 0; i < state.node.devices[slot]; ++i) {
    std::optional<DeviceRefusal> best;
    bool open = false;
    for (const std::vector<DeviceDemand>* demands : {&shape.init(), &shape.containers()}) {
      for (const DeviceDemand& demand : *demands) {
        if (demand.container != container) continue;
        auto no = refuseOne(state, shape, slot, i, demand, host_left);
        open = open || !no;
        if (no && (!best || best->why == DeviceWhy::kKind)) best = std::move(no);
      }
    }
    if (!open && best) refused.push_back(std::move(*best));
  }
  return refused;
}

// In the order of the containers.
std::vector<const DeviceDemand*> demandsInOrder(const ShapeClass& shape) {
  std::vector<const DeviceDemand*> order;
  for (const std::vector<DeviceDemand>* demands : {&shape.init(), &shape.containers()})
    for (const DeviceDemand& demand : *demands) order.push_back(&demand);
  std::stable_sort(order.begin(), order.end(), [](const DeviceDemand* a, const DeviceDemand* b) {
    return a->container < b->container;
  });
  return order;
}

std::optional<CompactRefusal> compactRefusalOf(const HotState& state, const ShapeClass& shape,
                                               const std::vector<const DeviceDemand*>& demands,
                                               Slot slot, PlanOutcome end) {
  if (const std::optional<NodeWhy> reason = refuseNode(state, shape, slot)) {
    const NodeRefusal refusal = describe(state, shape, slot, *reason);
    const bool few = *reason == NodeWhy::kTooFew;
    return CompactRefusal{{}, *reason, refusal.container, few ? refusal.needed : 0};
  }
  for (const DeviceDemand* demand : demands)
    if (auto brief = briefAsk(state, shape, slot, *demand)) return brief;
  if (end == PlanOutcome::kPlaced) return std::nullopt;
  return CompactRefusal{{}, whyOf(end)};
}

std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     PlanOutcome end) {
  std::optional<NodeRefusal> refusal = refusalAlone(state, shape, slot);
  if (!refusal && end != PlanOutcome::kPlaced) {
    refusal.emplace();
    refusal->why = whyOf(end);
  }
  if (refusal) refusal->node = state.cold[slot].node.name;
  return refusal;
}

std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     SearchPass& pass) {
  std::optional<NodeRefusal> refusal = refusalOf(state, shape, slot, PlanOutcome::kPlaced);
  if (refusal || oneByOne(state, shape, slot)) return refusal;
  return refusalOf(state, shape, slot, planOn(state, shape, slot, pass).end);
}

}  // namespace divvy::engine
