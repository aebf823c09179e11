// Accounting: allocations that are reserved until an instant, or confirmed.
#include <algorithm>

#include "core/core.h"
#include "fit/block_topology.h"
#include "fit/group_rules.h"

namespace divvy::engine {
namespace {

Error noRoom(const RequestId& id, const std::string& why) {
  return {ErrorCode::kNoRoom, "request " + id.text + ": " + why};
}

Part partOf(const Charge& charge) {
  const Bytes limit = charge.memory - charge.outside;
  return {limit, limit - charge.swappable, charge.outside};
}

// `host_left` becomes what is left for the other charges.
bool hasMemory(const HotState& state, std::uint32_t device, const Charge& charge,
               Bytes& host_left) {
  if (state.device.terms[device] == 0)
    return static_cast<std::int64_t>(charge.memory.count) <= state.device.memory_free[device];
  const MemoryAccounts& accounts = state.device.accounts[device];
  const Part part = partOf(charge);
  if (refuseNow(accounts, part, host_left)) return false;
  host_left = host_left - addedBeyond(accounts, part);
  return true;
}

DeviceDemand demandOf(const Share& share, std::size_t container, bool context_outside) {
  DeviceDemand demand;
  demand.count = 1;
  demand.compute = share.compute.milli;
  demand.bytes = static_cast<std::int64_t>(share.memory.count);
  demand.container = container;
  demand.guarantee = share.guarantee;
  demand.context_outside = context_outside;
  demand.part = !share.part.empty();
  return demand;
}

// Returns true if the charged partitions do not overlap with those of other tenants.
bool partsHold(const HotState& state, Slot slot, std::size_t index, const Charge& charge) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const std::uint8_t use = state.device.use[hot];
  const bool by_time = charge.shared_too || charge.slots > charge.parts;
  if (charge.parts > 0 && (use & kByTime) != 0) return false;
  if (by_time && (use & kInParts) != 0) return false;
  if (charge.parts == 0) return charge.slices == 0 && charge.cpus == 0;
  const PartRoom room = partRoomOf(state, slot, index);
  return (room.taken & charge.slices) == 0 && charge.cpus <= room.cpus;
}

// Checks the state of the device for a share that is a partition.
bool partWillDo(const HotState& state, const ShapeClass& shape, Slot slot, std::size_t index,
                const Share& share) {
  const std::uint32_t hot = state.node.first[slot] + static_cast<std::uint32_t>(index);
  const Partitioning* parting = partitioningOf(state.cold[slot].node.devices[index]);
  return parting != nullptr && partVerdictOn(state, shape, slot, index) == kOpen &&
         partVerdictOn(roomOf(state, hot), DeviceDemand{}) == kOpen &&
         isWay(*parting, share.part, share.start, share.size);
}

// Returns true if it takes more of any device.
bool takesMore(const Placement& now, const Placement& than) {
  return std::any_of(now.charges.begin(), now.charges.end(), [&](const Charge& one) {
    const auto before = std::find_if(than.charges.begin(), than.charges.end(),
                                     [&](const Charge& other) { return other.uuid == one.uuid; });
    return before == than.charges.end() || one.memory > before->memory ||
           one.compute > before->compute;
  });
}

}  // namespace

const Engine::Core::BookedRequest* Engine::Core::held(const Request& request) const {
  const auto known = allocations_.find(request.id);
  return known == allocations_.end() ? nullptr : &known->second;
}

const Allocation& Engine::Core::addAllocation(BookedRequest booked) {
  const Slot slot = booked.slot;
  const RequestId id = booked.allocation.id;
  const Allocation& allocation =
      allocations_.emplace(id, std::move(booked)).first->second.allocation;
  if (allocation.expires) expiring_.emplace(*allocation.expires, allocation.id);
  on_[slot].insert(allocation.id);
  count(slot, -1);
  state_.charge(slot, allocation.placement, 1);
  changed(slot);
  tidy(slot);
  return allocation;
}

void Engine::Core::removeAllocation(AllocationTable::iterator at) {
  const BookedRequest& booked = at->second;
  const Slot slot = booked.slot;
  if (booked.allocation.expires) expiring_.erase({*booked.allocation.expires, at->first});
  on_[slot].erase(at->first);
  count(slot, -1);
  state_.charge(slot, booked.allocation.placement, -1);
  allocations_.erase(at);
  changed(slot);
  tidy(slot);
}

Result<Allocation> Engine::Core::place(const Request& request, Instant expires, Window* window) {
  if (request.id.empty()) return Error{ErrorCode::kUsage, "a request without an id"};
  if (const BookedRequest* booked = held(request)) {
    if (!booked->asked || booked->shape == request.shape) return booked->allocation;
    return Error{ErrorCode::kUsage,
                 "request " + request.id.text + " already has something else; release that first"};
  }
  Result<Decision> decision = window == nullptr || window->enough >= order_.size()
                                  ? decide(request)
                                  : decideWithin(request, *window);
  if (!decision) return decision.error();
  if (!decision->fits()) return noRoom(request.id, "fits on no node now");
  const Slot slot = slots_.at(decision->placement->node);
  return addAllocation(
      {{request.id, std::move(*decision->placement), expires}, slot, request.shape, true});
}

// Checked for every placement, also for one that the caller decided.
Result<void> Engine::Core::checkRoom(Slot slot, const Placement& placement) const {
  const ColdNode& cold = state_.cold[slot];
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::kNoRoom, "node " + placement.node.text + ": " + what};
  };
  if (placement.cpu.milli > state_.node.cpu_free[slot]) return refuse("not enough cores");
  if (static_cast<std::int64_t>(placement.memory.count) > state_.node.memory_free[slot]) {
    return refuse("not enough memory");
  }
  Bytes host_left = state_.hostLeft(slot);
  for (const Charge& charge : placement.charges) {
    std::size_t i = 0;
    while (i < cold.used.size() && cold.node.devices[i].uuid != charge.uuid) ++i;
    if (i == cold.used.size()) return refuse("has no device " + charge.uuid.text);
    const Device& device = cold.node.devices[i];
    const std::uint32_t hot = state_.node.first[slot] + static_cast<std::uint32_t>(i);
    // Slices include the compute, memory and processors of the partition.
    const bool sums = charge.slices == 0;
    const bool bound = sums && device.compute_rule == ComputeRule::kBound;
    if ((bound && charge.compute.milli > device.compute.milli - cold.used[i].compute) ||
        (sums && !hasMemory(state_, hot, charge, host_left)) ||
        static_cast<std::int64_t>(charge.slots) > state_.device.slots_free[hot] ||
        !partsHold(state_, slot, i, charge)) {
      return refuse("not enough of device " + charge.uuid.text);
    }
  }
  return {};
}

// Each device must still fit each container's ask: model, health, exclusive use.
Result<void> Engine::Core::checkRules(Slot slot, const Request& request,
                                      const Placement& placement) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  const std::vector<Device>& devices = state_.cold[slot].node.devices;
  const Bytes host_left = state_.hostLeft(slot);
  const ShapeClass& known = (*scores)->shape();
  std::optional<Groups> groups;
  if (groupedOn(state_, known, slot)) groups = groupsFor(state_, known, slot);
  const std::uint32_t first = state_.node.first[slot];
  for (std::size_t c = 0; c < placement.containers.size(); ++c) {
    std::map<DeviceKind, DeviceSet> together;
    for (const Share& share : placement.containers[c]) {
      const auto at = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& one) { return one.uuid == share.uuid; });
      const auto i = static_cast<std::size_t>(at - devices.begin());
      DeviceDemand demand = demandOf(share, c, request.shape.context_outside);
      demand.mutex = known.devices().mutex;
      if (at != devices.end()) demand.not_beside = notBeside(known.companyOf(at->kind));
      const bool good =
          at != devices.end() && known.requests(c, at->kind, demand.part) &&
          (demand.part ? partWillDo(state_, known, slot, i, share)
                       : verdictOn(state_, known, slot, i) == kOpen &&
                             verdictOn(roomOf(state_, first + static_cast<std::uint32_t>(i)),
                                       demand, host_left) == kOpen);
      if (!good) {
        return Error{ErrorCode::kNoRoom, "node " + placement.node.text + ": device " +
                                             share.uuid.text + " will not do any more"};
      }
      if (demand.part) continue;
      together[known.mixes(c) ? DeviceKind() : at->kind] |= only(static_cast<unsigned>(i));
    }
    for (const auto& [kind, group] : together) {
      if (!groups || groups->good(group)) continue;
      return Error{ErrorCode::kNoRoom, "node " + placement.node.text + ": the devices of one " +
                                           "container may not be together any more"};
    }
  }
  return {};
}

Result<Allocation> Engine::Core::reserve(const Request& request, const Placement& decided,
                                         Instant expires) {
  // The caller may not have kept this.
  Placement placement = decided;
  placement.daily = request.shape.daily;
  if (const BookedRequest* booked = held(request)) {
    if (booked->allocation.placement == placement) return booked->allocation;
    return Error{ErrorCode::kUsage,
                 "request " + request.id.text + " already has something else; release that first"};
  }
  const std::array<NodeName, 1> node{placement.node};
  const Result<Decision> again = decideAmong(request, node);
  if (!again) return again.error();
  if (!again->fits()) return noRoom(request.id, "does not fit on " + placement.node.text + " now");
  if (again->placement->pool != placement.pool)
    return noRoom(request.id, "was decided while it got another pool");
  const Slot slot = slots_.at(placement.node);
  // Another request may have taken these devices in between.
  if (*again->placement != placement) {
    const Result<void> room = checkRoom(slot, placement);
    if (!room) return room.error();
    const Result<void> rules = checkRules(slot, request, placement);
    if (!rules) return rules.error();
  }
  return addAllocation({{request.id, placement, expires}, slot, request.shape, true});
}

Result<void> Engine::Core::confirm(const RequestId& id) {
  const auto known = allocations_.find(id);
  if (known == allocations_.end()) {
    return Error{ErrorCode::kNotFound, "request " + id.text + " has nothing, or not any more"};
  }
  Allocation& allocation = known->second.allocation;
  if (allocation.expires) expiring_.erase({*allocation.expires, id});
  allocation.expires.reset();
  return {};
}

bool Engine::Core::release(const RequestId& id) {
  const auto known = allocations_.find(id);
  if (known == allocations_.end()) return false;
  removeAllocation(known);
  return true;
}

std::vector<Allocation> Engine::Core::expire(Instant now) {
  std::vector<Allocation> gone;
  while (!expiring_.empty() && expiring_.begin()->first <= now) {
    const auto at = allocations_.find(expiring_.begin()->second);
    gone.push_back(at->second.allocation);
    removeAllocation(at);
  }
  return gone;
}

Result<void> Engine::Core::adopt(const Allocation& allocation) {
  if (const auto known = allocations_.find(allocation.id); known != allocations_.end()) {
    if (known->second.allocation == allocation) return {};
    return Error{ErrorCode::kUsage, "request " + allocation.id.text + " has something else"};
  }
  const auto node = slots_.find(allocation.placement.node);
  if (node == slots_.end()) {
    return Error{ErrorCode::kNotFound,
                 "no node is called \"" + allocation.placement.node.text + "\""};
  }
  addAllocation({allocation, node->second, {}, false});
  return {};
}

Result<void> Engine::Core::resize(const RequestId& id, const Placement& placement) {
  const auto known = allocations_.find(id);
  if (known == allocations_.end()) {
    return Error{ErrorCode::kNotFound, "request " + id.text + " has nothing, or not any more"};
  }
  const BookedRequest was = known->second;
  const Slot slot = was.slot;
  if (was.allocation.placement.node != placement.node)
    return Error{ErrorCode::kUsage, "request " + id.text + " is on node " +
                                        was.allocation.placement.node.text +
                                        "; accepted: that one"};
  removeAllocation(known);
  Result<void> room;
  const bool more = takesMore(placement, was.allocation.placement);
  if (more) room = checkRoom(slot, placement);
  if (more && room) room = checkAlone(slot, placement);
  if (!room) {
    addAllocation(was);
    return room;
  }
  Allocation now = was.allocation;
  now.placement = placement;
  addAllocation({std::move(now), slot, {}, false});
  return {};
}

// A whole device has no other tenant.
Result<void> Engine::Core::checkAlone(Slot slot, const Placement& placement) const {
  const std::vector<Device>& devices = state_.cold[slot].node.devices;
  for (const Charge& charge : placement.charges) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::uint32_t hot = state_.node.first[slot] + static_cast<std::uint32_t>(i);
      const bool whole = devices[i].compute_rule == ComputeRule::kBound && charge.parts == 0 &&
                         charge.compute >= kWholeDevice;
      if (whole && devices[i].uuid == charge.uuid && state_.device.tenants[hot] > 0)
        return Error{ErrorCode::kNoRoom, "node " + placement.node.text + ": others are on device " +
                                             charge.uuid.text +
                                             ", and all of its compute is for one alone"};
    }
  }
  return {};
}

const Allocation* Engine::Core::find(const RequestId& id) const {
  const auto known = allocations_.find(id);
  return known == allocations_.end() ? nullptr : &known->second.allocation;
}

std::vector<Allocation> Engine::Core::allocations() const {
  std::vector<Allocation> all;
  all.reserve(allocations_.size());
  for (const auto& [id, booked] : allocations_) all.push_back(booked.allocation);
  std::sort(all.begin(), all.end(),
            [](const Allocation& a, const Allocation& b) { return a.id < b.id; });
  return all;
}

}  // namespace divvy::engine
