#include "plan.h"

#include <algorithm>
#include <utility>

namespace divvy::engine {
namespace {

using Rooms = std::array<DeviceRoom, kMaxDevicesPerNode>;
using Takens = std::array<Taken, kMaxDevicesPerNode>;

class Search {
 public:
  Search(const HotState& state, const ShapeClass& shape, Slot slot)
      : shape_(shape), devices_(state.node.devices[slot]) {
    const std::uint32_t first = state.node.first[slot];
    for (std::size_t i = 0; i < devices_; ++i) {
      rooms_[i] = roomOf(state, first + static_cast<std::uint32_t>(i));
      verdicts_[i] = verdictOn(state, shape, slot, i);
    }
    plan_.containers.resize(shape.containers().size());
  }

  Planned run() {
    const Rooms fresh = rooms_;
    if (!placeFrom(0)) return {std::nullopt, tries_ >= kMostTries};
    rooms_ = fresh;
    const Takens together = plan_.taken;
    for (const Ask& ask : shape_.init()) {
      if (!pickInit(ask, together)) return {};
    }
    return {std::move(plan_), false};
  }

 private:
  // All devices, tightest first as they are now.
  Candidates sorted() const {
    Candidates order;
    order.count = static_cast<std::uint8_t>(devices_);
    for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
    std::stable_sort(order.at.begin(), order.at.begin() + order.count,
                     [&](std::uint8_t a, std::uint8_t b) {
                       const DeviceRoom& x = rooms_[a];
                       const DeviceRoom& y = rooms_[b];
                       return std::pair(x.compute, x.memory) < std::pair(y.compute, y.memory);
                     });
    return order;
  }

  bool fits(const Ask& ask, std::size_t i) const {
    return verdicts_[i] == kOpen && verdictOn(rooms_[i], ask) == kOpen;
  }

  // What one is good for, the other is too.
  bool alike(std::size_t a, std::size_t b) const {
    const DeviceRoom& x = rooms_[a];
    const DeviceRoom& y = rooms_[b];
    return x.compute == y.compute && x.memory == y.memory && x.memory_total == y.memory_total &&
           x.slots == y.slots && x.idle == y.idle && x.kind == y.kind &&
           verdicts_[a] == verdicts_[b];
  }

  void take(const Ask& ask, std::size_t i) {
    DeviceRoom& room = rooms_[i];
    Taken& taken = plan_.taken[i];
    const std::int64_t memory = bytesOf(ask, room.memory_total);
    room.compute -= ask.compute;
    room.memory -= memory;
    --room.slots;
    room.idle = false;
    taken.compute += ask.compute;
    taken.memory += memory;
    ++taken.slots;
  }

  // The containers from `at` on.
  bool placeFrom(std::size_t at) {
    if (at == shape_.containers().size()) return true;
    return choose(at, sorted(), 0, 0);
  }

  // The rest of a container's devices, from position `from` of `order` on; then the next container.
  bool choose(std::size_t at, const Candidates& order, std::uint8_t from, std::uint8_t chosen) {
    const Ask& ask = shape_.containers()[at];
    if (chosen == ask.count) return placeFrom(at + 1);
    Picked& picked = plan_.containers[at];
    const std::uint8_t* failed = nullptr;
    for (std::uint8_t position = from; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      if (!fits(ask, i) || (failed != nullptr && alike(*failed, i))) continue;
      if (++tries_ >= kMostTries) return false;
      const DeviceRoom room = rooms_[i];
      const Taken taken = plan_.taken[i];
      take(ask, i);
      picked.at[chosen] = i;
      picked.count = static_cast<std::uint8_t>(chosen + 1);
      if (choose(at, order, static_cast<std::uint8_t>(position + 1), picked.count)) return true;
      rooms_[i] = room;
      plan_.taken[i] = taken;
      failed = &order.at[position];
    }
    return false;
  }

  // On the node as it is, where possible on devices that the others get anyway.
  bool pickInit(const Ask& ask, const Takens& together) {
    const Candidates order = sorted();
    Picked picked;
    for (const bool held : {true, false}) {
      for (std::uint8_t position = 0; position < order.count; ++position) {
        const std::uint8_t i = order.at[position];
        if (picked.count == ask.count || (together[i].slots > 0) != held || !fits(ask, i)) continue;
        picked.at[picked.count++] = i;
        Taken& taken = plan_.taken[i];
        taken.memory = std::max(taken.memory, bytesOf(ask, rooms_[i].memory_total));
        taken.compute = std::max(taken.compute, ask.compute);
        taken.slots = std::max(taken.slots, 1u);
      }
    }
    plan_.init.push_back(picked);
    return picked.count == ask.count;
  }

  const ShapeClass& shape_;
  std::size_t devices_;
  Rooms rooms_{};
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
  Plan plan_;
  std::uint32_t tries_ = 0;
};

}  // namespace

Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot) {
  return Search(state, shape, slot).run();
}

}  // namespace divvy::engine
