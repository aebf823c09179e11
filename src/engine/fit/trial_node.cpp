#include "fit/trial_node.h"

#include <algorithm>

#include "fit/device_order.h"
#include "fit/plan_bounds.h"
#include "fit/usage_profile.h"

namespace divvy::engine {

bool TrialNode::PartitionState::operator==(const PartitionState& other) const {
  return parting == other.parting && verdict == other.verdict && room.memory == other.room.memory &&
         room.compute == other.room.compute && room.cpus == other.room.cpus &&
         room.taken == other.room.taken;
}

TrialNode::TrialNode(const HotState& state, const ShapeClass& shape, Slot slot)
    : state_(state), shape_(shape), slot_(slot), devices_(state.node.devices[slot]) {
  now.host_left = state.hostLeft(slot);
  const std::uint32_t first = state.node.first[slot];
  for (std::size_t i = 0; i < devices_; ++i) {
    DeviceRoom& room = now.rooms[i];
    room = roomOf(state, first + static_cast<std::uint32_t>(i));
    verdicts_[i] = verdictOn(state, shape, slot, i);
    if (room.accounts == nullptr) continue;
    if (now.accounts.empty()) now.accounts.resize(devices_);
    now.accounts[i] = *room.accounts;
    room.accounts = &now.accounts[i];
  }
  if (!shape.parts()) return;
  now.parts.resize(devices_);
  for (std::size_t i = 0; i < devices_; ++i) {
    now.parts[i] = {partitioningOf(state.cold[slot].node.devices[i]), partRoomOf(state, slot, i),
                    partVerdictOn(state, shape, slot, i)};
  }
}

void TrialNode::back(const FreeCapacity& then) {
  now.rooms = then.rooms;
  std::copy(then.accounts.begin(), then.accounts.end(), now.accounts.begin());
  now.parts = then.parts;
  now.host_left = then.host_left;
  now.peak_use = then.peak_use;
}

Candidates TrialNode::sorted(const DeviceDemand& demand) const {
  Candidates order;
  order.count = static_cast<std::uint8_t>(devices_);
  for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
  if (shape_.devices().order == DeviceOrder::kTightest) {
    arrangeTightest(demand, now.rooms.data(), &order);
    if (shape_.byDay()) sortByPeakLoad(state_, shape_, slot_, demand, now.rooms.data(), &order);
  } else {
    arrange(shape_, state_.cold[slot_].node, now.rooms.data(), &order);
  }
  return order;
}

bool TrialNode::alike(std::size_t a, std::size_t b) const {
  const DeviceRoom& x = now.rooms[a];
  const DeviceRoom& y = now.rooms[b];
  return x.compute == y.compute && x.memory == y.memory && x.memory_total == y.memory_total &&
         x.slots == y.slots && x.idle == y.idle && x.kind == y.kind && x.weight == y.weight &&
         x.use == y.use && verdicts_[a] == verdicts_[b] &&
         (x.accounts == nullptr) == (y.accounts == nullptr) &&
         (x.accounts == nullptr || *x.accounts == *y.accounts) &&
         (now.parts.empty() || now.parts[a] == now.parts[b]);
}

void TrialNode::charge(const DeviceDemand& demand, std::size_t device) {
  DeviceRoom& room = now.rooms[device];
  PeakUse& peak_use = now.peak_use[device];
  const std::uint32_t hot = state_.node.first[slot_] + static_cast<std::uint32_t>(device);
  const PeakUse by = peakUseOf(demand, state_, hot);
  if (room.accounts != nullptr) {
    MemoryAccounts& accounts = now.accounts[device];
    const Part part = partOf(demand, accounts);
    now.host_left = now.host_left - addedBeyond(accounts, part);
    accounts = with(accounts, part);
  }
  room.compute -= demand.compute;
  room.memory -= by.memory;
  room.slots -= static_cast<std::int32_t>(by.slots);
  room.idle = false;
  room.use |= kByTime;
  peak_use.compute += by.compute;
  peak_use.memory += by.memory;
  peak_use.outside += by.outside;
  peak_use.stays += by.stays;
  peak_use.largest = std::max(peak_use.largest, by.largest);
  peak_use.slots += by.slots;
  peak_use.by_time = true;
}

void TrialNode::chargePartition(std::size_t device, const DevicePart& part, std::uint32_t start) {
  const auto memory = static_cast<std::int64_t>(part.memory.count);
  const std::uint32_t slices = slicesOf(part, start);
  DeviceRoom& room = now.rooms[device];
  room.compute = std::max(room.compute - part.compute.milli, 0);
  room.memory = std::max<std::int64_t>(room.memory - memory, 0);
  --room.slots;
  room.idle = false;
  room.use |= kInParts;
  PartRoom& left = now.parts[device].room;
  left.memory = room.memory;
  left.compute = std::max(left.compute - part.compute.milli, 0);
  left.cpus -= std::min(left.cpus, part.cpus);
  left.taken |= slices;
  PeakUse& peak_use = now.peak_use[device];
  peak_use.compute += part.compute.milli;
  peak_use.memory += memory;
  peak_use.stays += memory;
  peak_use.cpus += part.cpus;
  peak_use.slices |= slices;
  ++peak_use.slots;
  ++peak_use.parts;
}

Bytes TrialNode::added(const DeviceDemand& demand, std::size_t device) const {
  if (now.rooms[device].accounts == nullptr) return {};
  return addedBeyond(now.accounts[device], partOf(demand, now.accounts[device]));
}

Bytes TrialNode::added(const DeviceDemand& demand, const ChosenDevices& selected) const {
  Bytes sum;
  for (std::uint8_t k = 0; k < selected.count; ++k) sum = sum + added(demand, selected.at[k]);
  return sum;
}

ChosenDevices TrialNode::firstOf(const Candidates& order, const DeviceDemand& demand) const {
  ChosenDevices selected;
  for (std::uint8_t k = 0; k < order.count && selected.count < demand.count; ++k)
    if (fits(demand, order.at[k])) selected.at[selected.count++] = order.at[k];
  return selected;
}

std::string TrialNode::image() const {
  if (!now.accounts.empty() || !now.parts.empty() || shape_.byDay()) return {};
  return imageOf(state_.cold[slot_].node, rooms(), verdicts());
}

}  // namespace divvy::engine
