#include "plan.h"

#include <algorithm>
#include <utility>

#include "device_order.h"
#include "group_rules.h"

namespace divvy::engine {
namespace {

using Rooms = std::array<DeviceRoom, kMaxDevicesPerNode>;
using Takens = std::array<Taken, kMaxDevicesPerNode>;

class Search {
 public:
  Search(const HotState& state, const ShapeClass& shape, Slot slot)
      : state_(state),
        shape_(shape),
        node_(state.cold[slot].node),
        first_(state.node.first[slot]),
        devices_(state.node.devices[slot]),
        host_left_(state.hostLeft(slot)) {
    if (shape.grouped()) groups_ = groupsFor(state, shape, slot);
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
    if (!placeFrom(0)) return {std::nullopt, gave_up_ || tries_ >= kMostTries};
    rooms_ = fresh;
    std::copy(fresh_books.begin(), fresh_books.end(), books_.begin());
    host_left_ = fresh_host;
    const Takens together = plan_.taken;
    std::size_t container = SIZE_MAX;
    for (const Ask& ask : shape_.init()) {
      if (ask.container != container) host_left_ = fresh_host;
      container = ask.container;
      if (!pickInit(ask, together)) return {std::nullopt, gave_up_ || tries_ >= kMostTries};
    }
    if (groups_) plan_.met = met();
    return {std::move(plan_), false};
  }

 private:
  // Books of its own, which change while it tries.
  void keep(std::size_t i) {
    if (books_.empty()) books_.resize(devices_);
    books_[i] = *rooms_[i].books;
    rooms_[i].books = &books_[i];
  }

  // All devices, in the order of the shape's policy as they are now. Tightest first: where compute
  // is a weight, those that have it left, each as they come.
  Candidates sorted(const Ask& ask) const {
    Candidates order;
    order.count = static_cast<std::uint8_t>(devices_);
    for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
    std::stable_sort(order.at.begin(), order.at.begin() + order.count,
                     [&](std::uint8_t a, std::uint8_t b) {
                       return tightness(rooms_[a], ask) < tightness(rooms_[b], ask);
                     });
    if (shape_.devices().order != DeviceOrder::kTightest)
      arrange(shape_, node_, rooms_.data(), &order);
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
    if (groups_) return false;
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
    room.slots -= static_cast<std::int32_t>(by.slots);
    room.idle = false;
    taken.compute += by.compute;
    taken.memory += by.memory;
    taken.outside += by.outside;
    taken.stays += by.stays;
    taken.largest = std::max(taken.largest, by.largest);
    taken.slots += by.slots;
  }

  // The containers from `at` on.
  bool placeFrom(std::size_t at) {
    if (at == shape_.containers().size()) return true;
    const Candidates order = sorted(shape_.containers()[at]);
    if (!groups_) return choose(at, order, 0, 0);
    const Groups::Found best = bestOf(shape_.containers()[at], order);
    if (!best.group) return false;
    return placeGroup(at, pickedFrom(order, *best.group)) || choose(at, order, 0, 0);
  }

  Groups::Found bestOf(const Ask& ask, const Candidates& order) {
    Candidates good;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (fits(ask, order.at[k])) good.at[good.count++] = order.at[k];
    const Groups::Found best = groups_->best(good, ask.count);
    gave_up_ = gave_up_ || best.gave_up;
    return best;
  }

  // These for a container; then the next one.
  bool placeGroup(std::size_t at, const Picked& picked) {
    const Ask& ask = shape_.containers()[at];
    const Rooms rooms = rooms_;
    const Takens taken = plan_.taken;
    const std::vector<MemoryBooks> books = books_;
    const Bytes host_left = host_left_;
    bool good = ++tries_ < kMostTries;
    for (std::uint8_t k = 0; k < picked.count && good; ++k) {
      good = fits(ask, picked.at[k]);
      if (good) take(ask, picked.at[k]);
    }
    plan_.containers[at] = picked;
    if (good && placeFrom(at + 1)) return true;
    rooms_ = rooms;
    plan_.taken = taken;
    std::copy(books.begin(), books.end(), books_.begin());
    host_left_ = host_left;
    return false;
  }

  static DeviceSet setOf(const Picked& picked) {
    DeviceSet set = 0;
    for (std::uint8_t k = 0; k < picked.count; ++k) set |= only(picked.at[k]);
    return set;
  }
  static Picked pickedFrom(const DeviceList& order, DeviceSet group) {
    Picked picked;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if ((group & only(order.at[k])) != 0) picked.at[picked.count++] = order.at[k];
    return picked;
  }
  // Who may come to those that were chosen.
  DeviceSet openTo(const Picked& picked, std::uint8_t chosen) const {
    DeviceSet open = ~DeviceSet{0};
    for (std::uint8_t k = 0; groups_ && k < chosen; ++k) open &= groups_->mates(picked.at[k]);
    return open;
  }
  bool allowed(const Picked& picked) const { return !groups_ || groups_->good(setOf(picked)); }
  unsigned met() const {
    unsigned least = kMostRules;
    for (const std::vector<Picked>* all : {&plan_.init, &plan_.containers})
      for (const Picked& picked : *all) least = std::min(least, groups_->met(setOf(picked)));
    return least;
  }

  // The rest of a container's devices, from position `from` of `order` on; then the next container.
  bool choose(std::size_t at, const Candidates& order, std::uint8_t from, std::uint8_t chosen) {
    const Ask& ask = shape_.containers()[at];
    Picked& picked = plan_.containers[at];
    if (chosen == ask.count) return allowed(picked) && placeFrom(at + 1);
    const DeviceSet open = openTo(picked, chosen);
    const std::uint8_t* failed = nullptr;
    for (std::uint8_t position = from; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      if (!fits(ask, i) || (open & only(i)) == 0 || (failed != nullptr && alike(*failed, i)))
        continue;
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
    const Picked picked = groups_ ? groupOf(order, ask, together) : firstOf(order, ask);
    const Bytes sum = addedBy(ask, picked);
    for (std::uint8_t k = 0; k < picked.count; ++k) takeAlone(ask, picked.at[k]);
    plan_.init.push_back(picked);
    const bool good = picked.count == ask.count && sum <= host_left_;
    host_left_ = host_left_ - sum;
    return good;
  }

  Bytes addedBy(const Ask& ask, const Picked& picked) const {
    Bytes sum;
    for (std::uint8_t k = 0; k < picked.count; ++k) sum = sum + added(ask, picked.at[k]);
    return sum;
  }

  // The best group of those that the others get, or of all; where the host's memory is not enough
  // for that, the first one for which it is.
  Picked groupOf(const Candidates& order, const Ask& ask, const Takens& together) {
    Candidates held;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (together[order.at[k]].slots > 0) held.at[held.count++] = order.at[k];
    for (const Candidates& list : {held, order}) {
      const Groups::Found best = bestOf(ask, list);
      if (!best.group) continue;
      const Picked picked = pickedFrom(list, *best.group);
      if (addedBy(ask, picked) <= host_left_) return picked;
    }
    Picked picked;
    return seek(order, ask, 0, &picked) ? picked : Picked{};
  }

  bool seek(const Candidates& order, const Ask& ask, std::uint8_t from, Picked* picked) {
    if (addedBy(ask, *picked) > host_left_ || ++tries_ >= kMostTries) return false;
    if (picked->count == ask.count) return allowed(*picked);
    const DeviceSet open = openTo(*picked, picked->count);
    for (std::uint8_t k = from; k < order.count; ++k) {
      if ((open & only(order.at[k])) == 0 || !fits(ask, order.at[k])) continue;
      picked->at[picked->count++] = order.at[k];
      if (seek(order, ask, static_cast<std::uint8_t>(k + 1), picked)) return true;
      --picked->count;
    }
    return false;
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
    taken.slots = std::max(taken.slots, by.slots);
  }

  const HotState& state_;
  const ShapeClass& shape_;
  const Node& node_;
  const std::uint32_t first_;
  const std::size_t devices_;
  Bytes host_left_;
  std::optional<Groups> groups_;
  std::vector<MemoryBooks> books_;  // by device, where there are terms
  Rooms rooms_{};
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
  Plan plan_;
  std::uint32_t tries_ = 0;
  bool gave_up_ = false;
};

}  // namespace

Taken takenBy(const Ask& ask, const HotState& state, std::uint32_t device) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.count); };
  // Whoever lets nobody else come takes all places.
  const auto slots = ask.mutex ? static_cast<std::uint32_t>(state.device.slots_free[device]) : 1u;
  if (state.device.terms[device] == 0) {
    const std::int64_t limit = bytesOf(ask, state.device.memory_total[device]);
    return {limit, ask.compute, slots, 0, limit, 0};
  }
  const Part part = partOf(ask, state.device.books[device]);
  return {bytes(part.reserve()),
          ask.compute,
          slots,
          bytes(part.outside),
          bytes(part.floor + part.outside),
          bytes(part.limit - part.floor)};
}

Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot) {
  return Search(state, shape, slot).run();
}

}  // namespace divvy::engine
