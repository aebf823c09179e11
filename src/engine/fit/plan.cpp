#include "fit/plan.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "fit/block_topology.h"
#include "fit/group_rules.h"
#include "fit/plan_bounds.h"
#include "fit/trial_node.h"

namespace divvy::engine {
namespace {

using Takens = std::array<Taken, kMaxDevicesPerNode>;

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
      : shape_(shape), trial_(state, shape, slot) {
    if (groupedOn(state, shape, slot)) groups_ = groupsFor(state, shape, slot);
  }

  Planned run() {
    const TrialNode::State fresh = trial_.now;
    fresh_ = &fresh;
    bool placed = place(shape_.containers());
    if (!placed && tries_ >= kTriesOfNode) placed = placeLargestFirst();
    if (!placed || (!shape_.staged() && !placeInit()))
      return {std::nullopt,
              gave_up_ || tries_ >= kTriesOfNode ? PlanEnd::kGaveUp : PlanEnd::kNoWay};
    if (groups_) plan_.met = shape_.hami() ? 0 : met(plan_);
    return {std::move(plan_), PlanEnd::kPlaced};
  }

  std::uint32_t tries() const { return tries_; }
  std::string image() const { return groups_ ? std::string() : trial_.image(); }

 private:
  struct Asked {
    std::span<const Ask> asks;
    std::vector<Picked> picked;
    std::vector<PartPick> ways;
  };

  // All containers that run in the end are placed. Now places the init containers, one after
  // another, each beside the sidecars before it, which keep their devices.
  bool placeInit() {
    const TrialNode::State then = trial_.now;
    // Moved, not copied: callers on the stack hold references into the vectors.
    Asked end{asks_, std::move(picked_), std::move(ways_)};
    plan_ = {};
    plan_.taken = then.taken;
    in_init_ = true;
    bool good = true;
    const std::span<const Ask> init = shape_.init();
    for (std::size_t at = 0, next = 0; at < init.size() && good; at = next) {
      while (next < init.size() && init[next].container == init[at].container) ++next;
      trial_.back(*fresh_);
      takeBefore(end, init[at].container);
      const std::span<const Ask> asks = init.subspan(at, next - at);
      good = shape_.parts() ? place(asks) : pickInit(asks, then.taken);
      if (!good) break;
      plan_.init.insert(plan_.init.end(), picked_.begin(), picked_.end());
      plan_.init_parts.insert(plan_.init_parts.end(), ways_.begin(), ways_.end());
      for (std::size_t i = 0; i < trial_.devices(); ++i)
        raise(&plan_.taken[i], trial_.now.taken[i]);
    }
    in_init_ = false;
    trial_.back(then);
    if (good) plan_.containers = end.picked;
    if (good) plan_.parts = end.ways;
    asks_ = end.asks;
    picked_ = std::move(end.picked);
    ways_ = std::move(end.ways);
    return good;
  }

  // Charges what sidecars before that init container were given.
  void takeBefore(const Asked& end, std::size_t container) {
    for (std::size_t k = 0; k < end.asks.size(); ++k) {
      const Ask& ask = end.asks[k];
      if (!ShapeClass::before(ask, container)) continue;
      const Picked& picked = end.picked[k];
      for (std::uint8_t one = 0; one < picked.count; ++one) {
        const std::size_t i = picked.at[one];
        if (!ask.part) trial_.take(ask, i);
        if (ask.part)
          trial_.takePart(i, trial_.now.parts[i].parting->parts[end.ways[k].part],
                          end.ways[k].start);
      }
    }
  }

  // All of them together.
  bool place(std::span<const Ask> asks) {
    asks_ = asks;
    picked_.assign(asks.size(), {});
    ways_.assign(shape_.parts() ? asks.size() : 0, {});
    // Sums are not exact for partitions.
    needs_.reset();
    if (!shape_.parts())
      needs_.emplace(asks, trial_.rooms(),
                     [&](const Ask& ask, std::size_t i) { return trial_.fits(ask, i); });
    return (!needs_ || needs_->possible()) && placeFrom(0);
  }

  // First fit decreasing, on the devices with least memory left. Used if trying in the order of the
  // containers ended without an answer. Not for rules that this order does not consider.
  bool placeLargestFirst() {
    if (groups_ || shape_.parts() || shape_.staged()) return false;
    trial_.back(*fresh_);
    std::vector<std::size_t> order(asks_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto size = [&](std::size_t at) {
      const Ask& ask = asks_[at];
      return std::tuple(bytesOf(ask, trial_.now.rooms[0].memory_total), ask.compute);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    return std::all_of(order.begin(), order.end(), [&](std::size_t at) {
      const Ask& ask = asks_[at];
      Candidates by = trial_.sorted(ask);
      std::stable_sort(by.at.begin(), by.at.begin() + by.count,
                       [&](std::uint8_t a, std::uint8_t b) {
                         return trial_.now.rooms[a].memory < trial_.now.rooms[b].memory;
                       });
      picked_[at] = trial_.firstOf(by, ask);
      if (picked_[at].count != ask.count) return false;
      for (std::uint8_t k = 0; k < picked_[at].count; ++k) {
        if (!trial_.fits(ask, picked_[at].at[k])) return false;  // the host's memory is shared
        trial_.take(ask, picked_[at].at[k]);
      }
      return true;
    });
  }

  bool placeFrom(std::size_t at) {
    if (needs_ && !needs_->enoughFrom(at, trial_.rooms(), trial_.verdicts())) return false;
    if (at == asks_.size()) return in_init_ || !shape_.staged() || placeInit();
    const Candidates order = trial_.sorted(asks_[at]);
    if (asks_[at].part) return choosePart(at, order);
    if (!groups_) return choose(at, order, 0, 0);
    const Groups::Found best = bestOf(asks_[at], order);
    if (!best.group) return false;
    return placeGroup(at, pickedFrom(order, *best.group)) || choose(at, order, 0, 0);
  }

  Groups::Found bestOf(const Ask& ask, const Candidates& order) {
    Candidates good;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (trial_.fits(ask, order.at[k])) good.at[good.count++] = order.at[k];
    const Groups::Found best = groups_->best(good, ask.count);
    gave_up_ = gave_up_ || best.gave_up;
    tries_ += best.tries / kGroupTriesOfOne;
    return best;
  }

  // Places this group for a container, then the next container.
  bool placeGroup(std::size_t at, const Picked& picked) {
    const Ask& ask = asks_[at];
    const auto rooms = trial_.now.rooms;
    const Takens taken = trial_.now.taken;
    const std::vector<MemoryAccounts> books = trial_.now.books;
    const Bytes host_left = trial_.now.host_left;
    bool good = ++tries_ < kTriesOfNode;
    for (std::uint8_t k = 0; k < picked.count && good; ++k) {
      good = trial_.fits(ask, picked.at[k]);
      if (good) trial_.take(ask, picked.at[k]);
    }
    picked_[at] = picked;
    if (good && placeFrom(at + 1)) return true;
    trial_.now.rooms = rooms;
    trial_.now.taken = taken;
    std::copy(books.begin(), books.end(), trial_.now.books.begin());
    trial_.now.host_left = host_left;
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
  // Devices that may join the chosen ones.
  DeviceSet openTo(const Picked& picked, std::uint8_t chosen) const {
    DeviceSet open = ~DeviceSet{0};
    for (std::uint8_t k = 0; groups_ && k < chosen; ++k) open &= groups_->mates(picked.at[k]);
    return open;
  }
  bool allowed(const Picked& picked) const { return !groups_ || groups_->good(setOf(picked)); }
  unsigned met(const Plan& plan) const {
    unsigned least = kMaxRules;
    const auto look = [&](const std::vector<Ask>& asks, const std::vector<Picked>& picked) {
      for (std::size_t k = 0; k < asks.size(); ++k)
        if (!asks[k].part) least = std::min(least, groups_->met(setOf(picked[k])));
    };
    look(shape_.init(), plan.init);
    look(shape_.containers(), plan.containers);
    return least;
  }

  // Chooses the rest of a container's devices from position `from` of `order` on, then the next
  // container.
  bool choose(std::size_t at, const Candidates& order, std::uint8_t from, std::uint8_t chosen) {
    const Ask& ask = asks_[at];
    Picked& picked = picked_[at];
    if (chosen == ask.count) return allowed(picked) && placeFrom(at + 1);
    const DeviceSet open = openTo(picked, chosen);
    const std::uint8_t* failed = nullptr;
    for (std::uint8_t position = from; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      if (!trial_.fits(ask, i) || (open & only(i)) == 0 ||
          (failed != nullptr && !groups_ && trial_.alike(*failed, i)))
        continue;
      if (++tries_ >= kTriesOfNode) return false;
      const DeviceRoom room = trial_.now.rooms[i];
      const Taken taken = trial_.now.taken[i];
      const MemoryAccounts books = room.books == nullptr ? MemoryAccounts{} : *room.books;
      const Bytes host_left = trial_.now.host_left;
      trial_.take(ask, i);
      picked.at[chosen] = i;
      picked.count = static_cast<std::uint8_t>(chosen + 1);
      if (choose(at, order, static_cast<std::uint8_t>(position + 1), picked.count)) return true;
      trial_.now.rooms[i] = room;
      trial_.now.taken[i] = taken;
      if (room.books != nullptr) trial_.now.books[i] = books;
      trial_.now.host_left = host_left;
      failed = &order.at[position];
    }
    return false;
  }

  // Among equal asks a later one gets a later device. The reverse order was tried as well.
  bool behind(std::size_t at, std::size_t device, PartPick way) const {
    if (!asks_[at].again) return true;
    const std::size_t before = picked_[at - 1].at[0];
    if (device != before) return device > before;
    const PartPick last = ways_[at - 1];
    return trial_.now.parts[device].parting->slices > 0 ? way.start < last.start
                                                        : way.part >= last.part;
  }

  bool choosePart(std::size_t at, const Candidates& order) {
    const Ask& ask = asks_[at];
    for (std::uint8_t position = 0; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      const Partitioning* parting = trial_.now.parts[i].parting;
      if (parting == nullptr || trial_.now.parts[i].verdict != kOpen) continue;
      if (partVerdictOn(trial_.now.rooms[i], ask) != kOpen) continue;
      const DeviceRoom room = trial_.now.rooms[i];
      const Taken taken = trial_.now.taken[i];
      const PartRoom left = trial_.now.parts[i].room;
      for (const PartPick way : waysFor(*parting, left, wishOf(shape_, ask, room.memory_total))) {
        if (!behind(at, i, way)) continue;
        if (++tries_ >= kTriesOfNode) return false;
        trial_.takePart(i, parting->parts[way.part], way.start);
        picked_[at].count = 1;
        picked_[at].at[0] = i;
        ways_[at] = way;
        if (placeFrom(at + 1)) return true;
        trial_.now.rooms[i] = room;
        trial_.now.taken[i] = taken;
        trial_.now.parts[i].room = left;
      }
    }
    return false;
  }

  // Chooses on the node as it is then. Prefers devices that need least host memory, then devices
  // that the other containers get anyway.
  bool pickInit(std::span<const Ask> asks, const Takens& together) {
    picked_.clear();
    return std::all_of(asks.begin(), asks.end(),
                       [&](const Ask& ask) { return pickInit(ask, together); });
  }

  bool pickInit(const Ask& ask, const Takens& together) {
    Candidates order = trial_.sorted(ask);
    const auto begin = order.at.begin();
    const auto end = begin + order.count;
    std::stable_partition(begin, end, [&](std::uint8_t i) { return together[i].slots > 0; });
    std::stable_sort(begin, end, [&](std::uint8_t a, std::uint8_t b) {
      return trial_.added(ask, a) < trial_.added(ask, b);
    });
    const Picked picked = groups_ ? groupOf(order, ask, together) : trial_.firstOf(order, ask);
    picked_.push_back(picked);
    if (picked.count != ask.count || trial_.added(ask, picked) > trial_.now.host_left) return false;
    for (std::uint8_t k = 0; k < picked.count; ++k) trial_.take(ask, picked.at[k]);
    return true;
  }

  // The best group of devices that the other containers get, or of all. If host memory does not
  // suffice for it, the first group for which it does.
  Picked groupOf(const Candidates& order, const Ask& ask, const Takens& together) {
    Candidates held;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (together[order.at[k]].slots > 0) held.at[held.count++] = order.at[k];
    for (const Candidates& list : {held, order}) {
      const Groups::Found best = bestOf(ask, list);
      if (!best.group) continue;
      const Picked picked = pickedFrom(list, *best.group);
      if (trial_.added(ask, picked) <= trial_.now.host_left) return picked;
    }
    Picked picked;
    return seek(order, ask, 0, &picked) ? picked : Picked{};
  }

  bool seek(const Candidates& order, const Ask& ask, std::uint8_t from, Picked* picked) {
    if (trial_.added(ask, *picked) > trial_.now.host_left || ++tries_ >= kTriesOfNode) return false;
    if (picked->count == ask.count) return allowed(*picked);
    const DeviceSet open = openTo(*picked, picked->count);
    for (std::uint8_t k = from; k < order.count; ++k) {
      if ((open & only(order.at[k])) == 0 || !trial_.fits(ask, order.at[k])) continue;
      picked->at[picked->count++] = order.at[k];
      if (seek(order, ask, static_cast<std::uint8_t>(k + 1), picked)) return true;
      --picked->count;
    }
    return false;
  }

  const ShapeClass& shape_;
  TrialNode trial_;
  std::optional<Groups> groups_;
  std::span<const Ask> asks_;
  std::optional<Needs> needs_;  // of asks_
  std::vector<Picked> picked_;
  std::vector<PartPick> ways_;
  const TrialNode::State* fresh_ = nullptr;  // before anything was tried
  bool in_init_ = false;
  Plan plan_;
  std::uint32_t tries_ = 0;
  bool gave_up_ = false;
};

}  // namespace

Taken takenBy(const Ask& ask, const HotState& state, std::uint32_t device) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.count); };
  // Mutex takes all slots.
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

Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot, SearchPass& pass) {
  // Cheap results are not worth keeping.
  constexpr std::uint32_t kDear = 64;
  constexpr std::size_t kMaxKept = 256;
  Search search(state, shape, slot);
  std::string image = search.image();
  if (const auto known = pass.found.find(image); known != pass.found.end() && !image.empty())
    return known->second;
  if (pass.budget.spent()) return {std::nullopt, PlanEnd::kPutOff};
  Planned planned = search.run();
  pass.budget.spend(search.tries() + 1);
  if (!image.empty() && search.tries() >= kDear && pass.found.size() < kMaxKept)
    pass.found.emplace(std::move(image), planned);
  return planned;
}

}  // namespace divvy::engine
