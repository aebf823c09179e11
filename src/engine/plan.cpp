#include "plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include "arrangement.h"
#include "by_day.h"
#include "device_order.h"
#include "group_rules.h"

namespace divvy::engine {
namespace {

using Rooms = std::array<DeviceRoom, kMaxDevicesPerNode>;
using Takens = std::array<Taken, kMaxDevicesPerNode>;

// The most at any time.
void raise(Taken* to, const Taken& by) {
  to->memory = std::max(to->memory, by.memory);
  to->compute = std::max(to->compute, by.compute);
  to->slots = std::max(to->slots, by.slots);
  to->outside = std::max(to->outside, by.outside);
  to->stays = std::max(to->stays, by.stays);
  to->largest = std::max(to->largest, by.largest);
  to->parts = std::max(to->parts, by.parts);
  to->cpus = std::max(to->cpus, by.cpus);
  to->slices |= by.slices;
  to->by_time |= by.by_time;
}

class Search {
 public:
  Search(const HotState& state, const ShapeClass& shape, Slot slot)
      : state_(state),
        shape_(shape),
        slot_(slot),
        node_(state.cold[slot].node),
        first_(state.node.first[slot]),
        devices_(state.node.devices[slot]),
        host_left_(state.hostLeft(slot)) {
    if (groupedOn(state, shape, slot)) groups_ = groupsFor(state, shape, slot);
    for (std::size_t i = 0; i < devices_; ++i) {
      rooms_[i] = roomOf(state, first_ + static_cast<std::uint32_t>(i));
      if (rooms_[i].books != nullptr) keep(i);
      verdicts_[i] = verdictOn(state, shape, slot, i);
    }
    if (!shape.parts()) return;
    parts_.resize(devices_);
    for (std::size_t i = 0; i < devices_; ++i) {
      parts_[i] = {partingOf(state.cold[slot].node.devices[i]), partRoomOf(state, slot, i),
                   partVerdictOn(state, shape, slot, i)};
    }
  }

  Planned run() {
    const Now fresh = now();
    fresh_ = &fresh;
    const bool placed = place(shape_.containers());
    if (!placed || (!shape_.staged() && !placeInit()))
      return {std::nullopt, gave_up_ || tries_ >= kMostTries};
    if (groups_) plan_.met = shape_.hami() ? 0 : met(plan_);
    return {std::move(plan_), false};
  }

 private:
  // What only asks for parts look at.
  struct Parts {
    const Parting* parting = nullptr;
    PartRoom room;
    std::uint8_t verdict = kOpen;
    bool operator==(const Parts& other) const {
      return parting == other.parting && verdict == other.verdict &&
             room.memory == other.room.memory && room.compute == other.room.compute &&
             room.cpus == other.room.cpus && room.taken == other.room.taken;
    }
  };

  // What changes of the node while it tries.
  struct Now {
    Rooms rooms;
    std::vector<MemoryBooks> books;
    std::vector<Parts> parts;
    Bytes host_left;
    Takens taken;
  };
  Now now() const { return {rooms_, books_, parts_, host_left_, taken_}; }
  // Books stay where they are: rooms show them.
  void back(const Now& then) {
    rooms_ = then.rooms;
    std::copy(then.books.begin(), then.books.end(), books_.begin());
    parts_ = then.parts;
    host_left_ = then.host_left;
    taken_ = then.taken;
  }
  // Of the asks that are looked at together.
  struct Asked {
    std::span<const Ask> asks;
    std::vector<Picked> picked;
    std::vector<PartPick> ways;
  };

  // All that are there in the end have been placed: now the init containers, one after the other,
  // each beside the sidecars before it, which stay where they are.
  bool placeInit() {
    const Now then = now();
    // Moved, not copied: whoever is trying holds on to what is in there.
    Asked end{asks_, std::move(picked_), std::move(ways_)};
    plan_ = {};
    plan_.taken = then.taken;
    in_init_ = true;
    bool good = true;
    const std::span<const Ask> init = shape_.init();
    for (std::size_t at = 0, next = 0; at < init.size() && good; at = next) {
      while (next < init.size() && init[next].container == init[at].container) ++next;
      back(*fresh_);
      takeBefore(end, init[at].container);
      const std::span<const Ask> asks = init.subspan(at, next - at);
      good = shape_.parts() ? place(asks) : pickInit(asks, then.taken);
      if (!good) break;
      plan_.init.insert(plan_.init.end(), picked_.begin(), picked_.end());
      plan_.init_parts.insert(plan_.init_parts.end(), ways_.begin(), ways_.end());
      for (std::size_t i = 0; i < devices_; ++i) raise(&plan_.taken[i], taken_[i]);
    }
    in_init_ = false;
    back(then);
    if (good) plan_.containers = end.picked;
    if (good) plan_.parts = end.ways;
    asks_ = end.asks;
    picked_ = std::move(end.picked);
    ways_ = std::move(end.ways);
    return good;
  }

  // What sidecars before that init container were given.
  void takeBefore(const Asked& end, std::size_t container) {
    for (std::size_t k = 0; k < end.asks.size(); ++k) {
      const Ask& ask = end.asks[k];
      if (!ShapeClass::before(ask, container)) continue;
      const Picked& picked = end.picked[k];
      for (std::uint8_t one = 0; one < picked.count; ++one) {
        const std::size_t i = picked.at[one];
        if (!ask.part) take(ask, i);
        if (ask.part) takePart(i, parts_[i].parting->parts[end.ways[k].part], end.ways[k].start);
      }
    }
  }

  // Books of its own, which change while it tries.
  void keep(std::size_t i) {
    if (books_.empty()) books_.resize(devices_);
    books_[i] = *rooms_[i].books;
    rooms_[i].books = &books_[i];
  }

  // All devices, in the order of the shape's policy as they are now.
  Candidates sorted(const Ask& ask) const {
    Candidates order;
    order.count = static_cast<std::uint8_t>(devices_);
    for (std::uint8_t i = 0; i < order.count; ++i) order.at[i] = i;
    if (shape_.devices().order == DeviceOrder::kTightest) {
      arrangeTightest(ask, rooms_.data(), &order);
      if (shape_.byDay()) calmFirst(state_, shape_, slot_, ask, rooms_.data(), &order);
    } else {
      arrange(shape_, node_, rooms_.data(), &order);
    }
    return order;
  }

  bool fits(const Ask& ask, std::size_t i) const {
    return verdicts_[i] == kOpen && verdictOn(rooms_[i], ask, host_left_) == kOpen;
  }

  // What one is good for, the other is too; for init containers as well, since those that are there
  // before them are placed first and in their order.
  bool alike(std::size_t a, std::size_t b) const {
    if (groups_) return false;
    const DeviceRoom& x = rooms_[a];
    const DeviceRoom& y = rooms_[b];
    return x.compute == y.compute && x.memory == y.memory && x.memory_total == y.memory_total &&
           x.slots == y.slots && x.idle == y.idle && x.kind == y.kind && x.weight == y.weight &&
           x.use == y.use && verdicts_[a] == verdicts_[b] &&
           (x.books == nullptr) == (y.books == nullptr) &&
           (x.books == nullptr || *x.books == *y.books) &&
           (parts_.empty() || parts_[a] == parts_[b]);
  }

  void take(const Ask& ask, std::size_t i) {
    DeviceRoom& room = rooms_[i];
    Taken& taken = taken_[i];
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
    room.use |= kByTime;
    taken.compute += by.compute;
    taken.memory += by.memory;
    taken.outside += by.outside;
    taken.stays += by.stays;
    taken.largest = std::max(taken.largest, by.largest);
    taken.slots += by.slots;
    taken.by_time = true;
  }

  // All of them together.
  bool place(std::span<const Ask> asks) {
    asks_ = asks;
    picked_.assign(asks.size(), {});
    ways_.assign(shape_.parts() ? asks.size() : 0, {});
    return placeFrom(0);
  }

  bool placeFrom(std::size_t at) {
    if (at == asks_.size()) return in_init_ || !shape_.staged() || placeInit();
    const Candidates order = sorted(asks_[at]);
    if (asks_[at].part) return choosePart(at, order);
    if (!groups_) return choose(at, order, 0, 0);
    const Groups::Found best = bestOf(asks_[at], order);
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
    const Ask& ask = asks_[at];
    const Rooms rooms = rooms_;
    const Takens taken = taken_;
    const std::vector<MemoryBooks> books = books_;
    const Bytes host_left = host_left_;
    bool good = ++tries_ < kMostTries;
    for (std::uint8_t k = 0; k < picked.count && good; ++k) {
      good = fits(ask, picked.at[k]);
      if (good) take(ask, picked.at[k]);
    }
    picked_[at] = picked;
    if (good && placeFrom(at + 1)) return true;
    rooms_ = rooms;
    taken_ = taken;
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
  unsigned met(const Plan& plan) const {
    unsigned least = kMostRules;
    const auto look = [&](const std::vector<Ask>& asks, const std::vector<Picked>& picked) {
      for (std::size_t k = 0; k < asks.size(); ++k)
        if (!asks[k].part) least = std::min(least, groups_->met(setOf(picked[k])));
    };
    look(shape_.init(), plan.init);
    look(shape_.containers(), plan.containers);
    return least;
  }

  // The rest of a container's devices, from position `from` of `order` on; then the next container.
  bool choose(std::size_t at, const Candidates& order, std::uint8_t from, std::uint8_t chosen) {
    const Ask& ask = asks_[at];
    Picked& picked = picked_[at];
    if (chosen == ask.count) return allowed(picked) && placeFrom(at + 1);
    const DeviceSet open = openTo(picked, chosen);
    const std::uint8_t* failed = nullptr;
    for (std::uint8_t position = from; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      if (!fits(ask, i) || (open & only(i)) == 0 || (failed != nullptr && alike(*failed, i)))
        continue;
      if (++tries_ >= kMostTries) return false;
      const DeviceRoom room = rooms_[i];
      const Taken taken = taken_[i];
      const MemoryBooks books = room.books == nullptr ? MemoryBooks{} : *room.books;
      const Bytes host_left = host_left_;
      take(ask, i);
      picked.at[chosen] = i;
      picked.count = static_cast<std::uint8_t>(chosen + 1);
      if (choose(at, order, static_cast<std::uint8_t>(position + 1), picked.count)) return true;
      rooms_[i] = room;
      taken_[i] = taken;
      if (room.books != nullptr) books_[i] = books;
      host_left_ = host_left;
      failed = &order.at[position];
    }
    return false;
  }

  // Of equal asks the later one goes behind the one before: the other way round was tried, too.
  bool behind(std::size_t at, std::size_t device, PartPick way) const {
    if (!asks_[at].again) return true;
    const std::size_t before = picked_[at - 1].at[0];
    if (device != before) return device > before;
    const PartPick last = ways_[at - 1];
    return parts_[device].parting->slices > 0 ? way.start < last.start : way.part >= last.part;
  }

  bool choosePart(std::size_t at, const Candidates& order) {
    const Ask& ask = asks_[at];
    for (std::uint8_t position = 0; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      const Parting* parting = parts_[i].parting;
      if (parting == nullptr || parts_[i].verdict != kOpen) continue;
      if (partVerdictOn(rooms_[i], ask) != kOpen) continue;
      const DeviceRoom room = rooms_[i];
      const Taken taken = taken_[i];
      const PartRoom left = parts_[i].room;
      for (const PartPick way : waysFor(*parting, left, wishOf(shape_, ask, room.memory_total))) {
        if (!behind(at, i, way)) continue;
        if (++tries_ >= kMostTries) return false;
        takePart(i, parting->parts[way.part], way.start);
        picked_[at].count = 1;
        picked_[at].at[0] = i;
        ways_[at] = way;
        if (placeFrom(at + 1)) return true;
        rooms_[i] = room;
        taken_[i] = taken;
        parts_[i].room = left;
      }
    }
    return false;
  }

  void takePart(std::size_t i, const DevicePart& part, std::uint32_t start) {
    const auto memory = static_cast<std::int64_t>(part.memory.count);
    const std::uint32_t slices = slicesOf(part, start);
    DeviceRoom& room = rooms_[i];
    room.compute = std::max(room.compute - part.compute.milli, 0);
    room.memory = std::max<std::int64_t>(room.memory - memory, 0);
    --room.slots;
    room.idle = false;
    room.use |= kInParts;
    PartRoom& left = parts_[i].room;
    left.memory = room.memory;
    left.compute = std::max(left.compute - part.compute.milli, 0);
    left.cpus -= std::min(left.cpus, part.cpus);
    left.taken |= slices;
    Taken& taken = taken_[i];
    taken.compute += part.compute.milli;
    taken.memory += memory;
    taken.stays += memory;
    taken.cpus += part.cpus;
    taken.slices |= slices;
    ++taken.slots;
    ++taken.parts;
  }

  Bytes added(const Ask& ask, std::size_t i) const {
    if (rooms_[i].books == nullptr) return {};
    return addedBeyond(books_[i], partOf(ask, books_[i]));
  }

  // On the node as it is then: on devices that need least of the host's memory, of these on those
  // that the others get anyway.
  bool pickInit(std::span<const Ask> asks, const Takens& together) {
    picked_.clear();
    return std::all_of(asks.begin(), asks.end(),
                       [&](const Ask& ask) { return pickInit(ask, together); });
  }

  bool pickInit(const Ask& ask, const Takens& together) {
    Candidates order = sorted(ask);
    const auto begin = order.at.begin();
    const auto end = begin + order.count;
    std::stable_partition(begin, end, [&](std::uint8_t i) { return together[i].slots > 0; });
    std::stable_sort(begin, end,
                     [&](std::uint8_t a, std::uint8_t b) { return added(ask, a) < added(ask, b); });
    const Picked picked = groups_ ? groupOf(order, ask, together) : firstOf(order, ask);
    picked_.push_back(picked);
    if (picked.count != ask.count || addedBy(ask, picked) > host_left_) return false;
    for (std::uint8_t k = 0; k < picked.count; ++k) take(ask, picked.at[k]);
    return true;
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

  const HotState& state_;
  const ShapeClass& shape_;
  const Slot slot_;
  const Node& node_;
  const std::uint32_t first_;
  const std::size_t devices_;
  Bytes host_left_;
  std::optional<Groups> groups_;
  std::vector<MemoryBooks> books_;  // by device, where there are terms
  Rooms rooms_{};
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
  std::vector<Parts> parts_;  // empty: nobody asks for any
  std::span<const Ask> asks_;
  std::vector<Picked> picked_;
  std::vector<PartPick> ways_;
  Takens taken_{};
  const Now* fresh_ = nullptr;  // before anything was tried
  bool in_init_ = false;
  Plan plan_;
  std::uint32_t tries_ = 0;
  bool gave_up_ = false;
};

}  // namespace

Taken takenBy(const Ask& ask, const HotState& state, std::uint32_t device) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.count); };
  // Whoever lets nobody else come takes all places.
  const auto slots =
      ask.keeps_off ? static_cast<std::uint32_t>(state.device.slots_free[device]) : 1u;
  if (state.device.terms[device] == 0) {
    const std::int64_t limit = bytesOf(ask, state.device.memory_total[device]);
    return {limit, ask.compute, slots, 0, limit, 0, 0, 0, 0, true};
  }
  const Part part = partOf(ask, state.device.books[device]);
  return {bytes(part.reserve()),
          ask.compute,
          slots,
          bytes(part.outside),
          bytes(part.floor + part.outside),
          bytes(part.limit - part.floor),
          0,
          0,
          0,
          true};
}

Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot) {
  return Search(state, shape, slot).run();
}

}  // namespace divvy::engine
