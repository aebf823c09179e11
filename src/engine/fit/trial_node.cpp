#include "fit/trial_node.h"

#include <algorithm>

#include "fit/device_order.h"
#include "fit/plan_bounds.h"
#include "fit/usage_profile.h"

namespace divvy::engine {

bool TrialNode::Parts::operator==(const Parts& other) const {
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
    if (room.books == nullptr) continue;
    if (now.books.empty()) now.books.resize(devices_);
    now.books[i] = *room.books;
    room.books = &now.books[i];
  }
  if (!shape.parts()) return;
  now.parts.resize(devices_);
  for (std::size_t i = 0; i < devices_; ++i) {
    now.parts[i] = {partingOf(state.cold[slot].node.devices[i]), partRoomOf(state, slot, i),
                    partVerdictOn(state, shape, slot, i)};
  }
}

void TrialNode::back(const State& then) {
  now.rooms = then.rooms;
  std::copy(then.books.begin(), then.books.end(), now.books.begin());
  now.parts = then.parts;
  now.host_left = then.host_left;
  now.taken = then.taken;
}

Candidates TrialNode::sorted(const Ask& ask) const {
  Candidates order;
  order.count = static_cast<std::uint8_t>(devices_);
  for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
  if (shape_.devices().order == DeviceOrder::kTightest) {
    arrangeTightest(ask, now.rooms.data(), &order);
    if (shape_.byDay()) sortByPeakLoad(state_, shape_, slot_, ask, now.rooms.data(), &order);
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
         (x.books == nullptr) == (y.books == nullptr) &&
         (x.books == nullptr || *x.books == *y.books) &&
         (now.parts.empty() || now.parts[a] == now.parts[b]);
}

void TrialNode::take(const Ask& ask, std::size_t device) {
  DeviceRoom& room = now.rooms[device];
  Taken& taken = now.taken[device];
  const std::uint32_t hot = state_.node.first[slot_] + static_cast<std::uint32_t>(device);
  const Taken by = takenBy(ask, state_, hot);
  if (room.books != nullptr) {
    MemoryAccounts& books = now.books[device];
    const Part part = partOf(ask, books);
    now.host_left = now.host_left - addedBeyond(books, part);
    books = with(books, part);
  }
  room.compute -= ask.compute;
  room.memory -= by.memory;
  room.slots -= static_cast<std::int32_t>(by.slots);
  room.idle = false;
  room.use |= kByTime;
  taken.compute += by.compute;
  taken.memory += by.memory;
  taken.outside += by.outside;
  taken.stays += by.stays;
  taken.largest = std::max(taken.largest, by.largest);
  taken.slots += by.slots;
  taken.by_time = true;
}

void TrialNode::takePart(std::size_t device, const DevicePart& part, std::uint32_t start) {
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
  Taken& taken = now.taken[device];
  taken.compute += part.compute.milli;
  taken.memory += memory;
  taken.stays += memory;
  taken.cpus += part.cpus;
  taken.slices |= slices;
  ++taken.slots;
  ++taken.parts;
}

Bytes TrialNode::added(const Ask& ask, std::size_t device) const {
  if (now.rooms[device].books == nullptr) return {};
  return addedBeyond(now.books[device], partOf(ask, now.books[device]));
}

Bytes TrialNode::added(const Ask& ask, const Picked& picked) const {
  Bytes sum;
  for (std::uint8_t k = 0; k < picked.count; ++k) sum = sum + added(ask, picked.at[k]);
  return sum;
}

Picked TrialNode::firstOf(const Candidates& order, const Ask& ask) const {
  Picked picked;
  for (std::uint8_t k = 0; k < order.count && picked.count < ask.count; ++k)
    if (fits(ask, order.at[k])) picked.at[picked.count++] = order.at[k];
  return picked;
}

std::string TrialNode::image() const {
  if (!now.books.empty() || !now.parts.empty() || shape_.byDay()) return {};
  return imageOf(state_.cold[slot_].node, rooms(), verdicts());
}

}  // namespace divvy::engine
