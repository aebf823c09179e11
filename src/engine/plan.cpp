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
      : state_(state),
        shape_(shape),
        first_(state.node.first[slot]),
        devices_(state.node.devices[slot]),
        host_left_(state.hostLeft(slot)) {
    for (std::size_t i = 0; i < devices_; ++i) {
      rooms_[i] = roomOf(state, first_ + static_cast<std::uint32_t>(i));
      if (rooms_[i].books != nullptr) keep(i);
      verdicts_[i] = verdictOn(state, shape, slot, i);
    }
    plan_.containers.resize(shape.containers().size());
  }

  Planned run() {
    const Rooms fresh = rooms_;
    const std::vector<MemoryBooks> fresh_books = books_;
    const Bytes fresh_host = host_left_;
    if (!placeFrom(0)) return {std::nullopt, tries_ >= kMostTries};
    rooms_ = fresh;
    std::copy(fresh_books.begin(), fresh_books.end(), books_.begin());
    host_left_ = fresh_host;
    const Takens together = plan_.taken;
    std::size_t container = SIZE_MAX;
    for (const Ask& ask : shape_.init()) {
      if (ask.container != container) host_left_ = fresh_host;
      container = ask.container;
      if (!pickInit(ask, together)) return {};
    }
    return {std::move(plan_), false};
  }

 private:
  // Books of its own, which change while it tries.
  void keep(std::size_t i) {
    if (books_.empty()) books_.resize(devices_);
    books_[i] = *rooms_[i].books;
    rooms_[i].books = &books_[i];
  }

  // All devices, tightest first as they are now; where compute is a weight, those that have it left
  // first, each as they come.
  Candidates sorted(const Ask& ask) const {
    Candidates order;
    order.count = static_cast<std::uint8_t>(devices_);
    for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
    std::stable_sort(order.at.begin(), order.at.begin() + order.count,
                     [&](std::uint8_t a, std::uint8_t b) {
                       return tightness(rooms_[a], ask) < tightness(rooms_[b], ask);
                     });
    return order;
  }

  static std::pair<std::int64_t, std::int64_t> tightness(const DeviceRoom& room, const Ask& ask) {
    if (room.weight) return {ask.compute > room.compute ? 1 : 0, 0};
    return {room.compute, room.memory};
  }

  bool fits(const Ask& ask, std::size_t i) const {
    return verdicts_[i] == kOpen && verdictOn(rooms_[i], ask, host_left_) == kOpen;
  }

  // What one is good for, the other is too.
  bool alike(std::size_t a, std::size_t b) const {
    const DeviceRoom& x = rooms_[a];
    const DeviceRoom& y = rooms_[b];
    return x.compute == y.compute && x.memory == y.memory && x.memory_total == y.memory_total &&
           x.slots == y.slots && x.idle == y.idle && x.kind == y.kind && x.weight == y.weight &&
           verdicts_[a] == verdicts_[b] && (x.books == nullptr) == (y.books == nullptr) &&
           (x.books == nullptr || *x.books == *y.books);
  }

  void take(const Ask& ask, std::size_t i) {
    DeviceRoom& room = rooms_[i];
    Taken& taken = plan_.taken[i];
    const Taken by = takenBy(ask, state_, first_ + static_cast<std::uint32_t>(i));
    if (room.books != nullptr) {
      const Part part = partOf(ask, books_[i]);
      host_left_ = host_left_ - addedBeyond(books_[i], part);
      books_[i] = with(books_[i], part);
    }
    room.compute -= ask.compute;
    room.memory -= by.memory;
    --room.slots;
    room.idle = false;
    taken.compute += by.compute;
    taken.memory += by.memory;
    taken.outside += by.outside;
    taken.stays += by.stays;
    taken.largest = std::max(taken.largest, by.largest);
    ++taken.slots;
  }

  // The containers from `at` on.
  bool placeFrom(std::size_t at) {
    if (at == shape_.containers().size()) return true;
    return choose(at, sorted(shape_.containers()[at]), 0, 0);
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
      const MemoryBooks books = room.books == nullptr ? MemoryBooks{} : *room.books;
      const Bytes host_left = host_left_;
      take(ask, i);
      picked.at[chosen] = i;
      picked.count = static_cast<std::uint8_t>(chosen + 1);
      if (choose(at, order, static_cast<std::uint8_t>(position + 1), picked.count)) return true;
      rooms_[i] = room;
      plan_.taken[i] = taken;
      if (room.books != nullptr) books_[i] = books;
      host_left_ = host_left;
      failed = &order.at[position];
    }
    return false;
  }

  Bytes added(const Ask& ask, std::size_t i) const {
    if (rooms_[i].books == nullptr) return {};
    return addedBeyond(books_[i], partOf(ask, books_[i]));
  }

  // On the node as it is: on devices that need least of the host's memory, of these on those that
  // the others get anyway.
  bool pickInit(const Ask& ask, const Takens& together) {
    Candidates order = sorted(ask);
    const auto begin = order.at.begin();
    const auto end = begin + order.count;
    std::stable_partition(begin, end, [&](std::uint8_t i) { return together[i].slots > 0; });
    std::stable_sort(begin, end,
                     [&](std::uint8_t a, std::uint8_t b) { return added(ask, a) < added(ask, b); });
    const Picked picked = firstOf(order, ask);
    Bytes sum;
    for (std::uint8_t k = 0; k < picked.count; ++k) sum = sum + added(ask, picked.at[k]);
    for (std::uint8_t k = 0; k < picked.count; ++k) takeAlone(ask, picked.at[k]);
    plan_.init.push_back(picked);
    const bool good = picked.count == ask.count && sum <= host_left_;
    host_left_ = host_left_ - sum;
    return good;
  }

  Picked firstOf(const Candidates& order, const Ask& ask) const {
    Picked picked;
    for (std::uint8_t k = 0; k < order.count && picked.count < ask.count; ++k)
      if (fits(ask, order.at[k])) picked.at[picked.count++] = order.at[k];
    return picked;
  }

  // The most at any time.
  void takeAlone(const Ask& ask, std::size_t i) {
    const Taken by = takenBy(ask, state_, first_ + static_cast<std::uint32_t>(i));
    Taken& taken = plan_.taken[i];
    taken.memory = std::max(taken.memory, by.memory);
    taken.compute = std::max(taken.compute, by.compute);
    taken.outside = std::max(taken.outside, by.outside);
    taken.stays = std::max(taken.stays, by.stays);
    taken.largest = std::max(taken.largest, by.largest);
    taken.slots = std::max(taken.slots, 1u);
  }

  const HotState& state_;
  const ShapeClass& shape_;
  const std::uint32_t first_;
  const std::size_t devices_;
  Bytes host_left_;
  std::vector<MemoryBooks> books_;  // by device, where there are terms
  Rooms rooms_{};
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
  Plan plan_;
  std::uint32_t tries_ = 0;
};

}  // namespace

Taken takenBy(const Ask& ask, const HotState& state, std::uint32_t device) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.count); };
  if (state.device.terms[device] == 0) {
    const std::int64_t limit = bytesOf(ask, state.device.memory_total[device]);
    return {limit, ask.compute, 1, 0, limit, 0};
  }
  const Part part = partOf(ask, state.device.books[device]);
  return {bytes(part.reserve()),
          ask.compute,
          1,
          bytes(part.outside),
          bytes(part.floor + part.outside),
          bytes(part.limit - part.floor)};
}

Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot) {
  return Search(state, shape, slot).run();
}

}  // namespace divvy::engine
