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

using PeakUses = std::array<PeakUse, kMaxDevicesPerNode>;

void raise(PeakUse* to, const PeakUse& by) {
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

  PlanResult run() {
    const TrialNode::FreeCapacity fresh = trial_.now;
    fresh_ = &fresh;
    bool placed = place(shape_.containers());
    if (!placed && tries_ >= kTriesOfNode) placed = placeLargestFirst();
    if (!placed || (!shape_.staged() && !placeInit()))
      return {std::nullopt,
              gave_up_ || tries_ >= kTriesOfNode ? PlanOutcome::kGaveUp : PlanOutcome::kNoWay};
    if (groups_) plan_.met = shape_.hami() ? 0 : met(plan_);
    return {std::move(plan_), PlanOutcome::kPlaced};
  }

  std::uint32_t tries() const { return tries_; }
  std::string image() const { return groups_ ? std::string() : trial_.image(); }

 private:
  struct PlacedContainers {
    std::span<const DeviceDemand> demands;
    std::vector<ChosenDevices> selected;
    std::vector<PartPick> ways;
  };

  // All containers that run in the end are placed. Now places the init containers, one after
  // another, each beside the sidecars before it, which keep their devices.
  bool placeInit() {
    const TrialNode::FreeCapacity then = trial_.now;
    // Moved, not copied: callers on the stack hold references into the vectors.
    PlacedContainers end{demands_, std::move(selected_), std::move(ways_)};
    plan_ = {};
    plan_.peak_use = then.peak_use;
    in_init_ = true;
    bool good = true;
    const std::span<const DeviceDemand> init = shape_.init();
    for (std::size_t at = 0, next = 0; at < init.size() && good; at = next) {
      while (next < init.size() && init[next].container == init[at].container) ++next;
      trial_.back(*fresh_);
      chargeSidecars(end, init[at].container);
      const std::span<const DeviceDemand> demands = init.subspan(at, next - at);
      good = shape_.parts() ? place(demands) : pickInit(demands, then.peak_use);
      if (!good) break;
      plan_.init.insert(plan_.init.end(), selected_.begin(), selected_.end());
      plan_.init_parts.insert(plan_.init_parts.end(), ways_.begin(), ways_.end());
      for (std::size_t i = 0; i < trial_.devices(); ++i)
        raise(&plan_.peak_use[i], trial_.now.peak_use[i]);
    }
    in_init_ = false;
    trial_.back(then);
    if (good) plan_.containers = end.selected;
    if (good) plan_.parts = end.ways;
    demands_ = end.demands;
    selected_ = std::move(end.selected);
    ways_ = std::move(end.ways);
    return good;
  }

  // Charges what sidecars before that init container were given.
  void chargeSidecars(const PlacedContainers& end, std::size_t container) {
    for (std::size_t k = 0; k < end.demands.size(); ++k) {
      const DeviceDemand& demand = end.demands[k];
      if (!ShapeClass::before(demand, container)) continue;
      const ChosenDevices& selected = end.selected[k];
      for (std::uint8_t one = 0; one < selected.count; ++one) {
        const std::size_t i = selected.at[one];
        if (!demand.part) trial_.charge(demand, i);
        if (demand.part)
          trial_.chargePartition(i, trial_.now.parts[i].parting->parts[end.ways[k].part],
                                 end.ways[k].start);
      }
    }
  }

  // All of them together.
  bool place(std::span<const DeviceDemand> demands) {
    demands_ = demands;
    selected_.assign(demands.size(), {});
    ways_.assign(shape_.parts() ? demands.size() : 0, {});
    // Sums are not exact for partitions.
    needs_.reset();
    if (!shape_.parts())
      needs_.emplace(demands, trial_.rooms(), [&](const DeviceDemand& demand, std::size_t i) {
        return trial_.fits(demand, i);
      });
    return (!needs_ || needs_->possible()) && placeFrom(0);
  }

  // First fit decreasing, on the devices with least memory left. Used if trying in the order of the
  // containers ended without an answer. Not for rules that this order does not consider.
  bool placeLargestFirst() {
    if (groups_ || shape_.parts() || shape_.staged()) return false;
    trial_.back(*fresh_);
    std::vector<std::size_t> order(demands_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto size = [&](std::size_t at) {
      const DeviceDemand& demand = demands_[at];
      return std::tuple(bytesOf(demand, trial_.now.rooms[0].memory_total), demand.compute);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    return std::all_of(order.begin(), order.end(), [&](std::size_t at) {
      const DeviceDemand& demand = demands_[at];
      Candidates by = trial_.sorted(demand);
      std::stable_sort(by.at.begin(), by.at.begin() + by.count,
                       [&](std::uint8_t a, std::uint8_t b) {
                         return trial_.now.rooms[a].memory < trial_.now.rooms[b].memory;
                       });
      selected_[at] = trial_.firstOf(by, demand);
      if (selected_[at].count != demand.count) return false;
      for (std::uint8_t k = 0; k < selected_[at].count; ++k) {
        if (!trial_.fits(demand, selected_[at].at[k])) return false;  // the host's memory is shared
        trial_.charge(demand, selected_[at].at[k]);
      }
      return true;
    });
  }

  bool placeFrom(std::size_t at) {
    if (needs_ && !needs_->enoughFrom(at, trial_.rooms(), trial_.verdicts())) return false;
    if (at == demands_.size()) return in_init_ || !shape_.staged() || placeInit();
    const Candidates order = trial_.sorted(demands_[at]);
    if (demands_[at].part) return choosePart(at, order);
    if (!groups_) return choose(at, order, 0, 0);
    const Groups::GroupChoice best = bestOf(demands_[at], order);
    if (!best.group) return false;
    return placeGroup(at, pickedFrom(order, *best.group)) || choose(at, order, 0, 0);
  }

  Groups::GroupChoice bestOf(const DeviceDemand& demand, const Candidates& order) {
    Candidates good;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (trial_.fits(demand, order.at[k])) good.at[good.count++] = order.at[k];
    const Groups::GroupChoice best = groups_->best(good, demand.count);
    gave_up_ = gave_up_ || best.gave_up;
    tries_ += best.tries / kGroupTriesOfOne;
    return best;
  }

  // Places this group for a container, then the next container.
  bool placeGroup(std::size_t at, const ChosenDevices& selected) {
    const DeviceDemand& demand = demands_[at];
    const auto rooms = trial_.now.rooms;
    const PeakUses peak_use = trial_.now.peak_use;
    const std::vector<MemoryAccounts> accounts = trial_.now.accounts;
    const Bytes host_left = trial_.now.host_left;
    bool good = ++tries_ < kTriesOfNode;
    for (std::uint8_t k = 0; k < selected.count && good; ++k) {
      good = trial_.fits(demand, selected.at[k]);
      if (good) trial_.charge(demand, selected.at[k]);
    }
    selected_[at] = selected;
    if (good && placeFrom(at + 1)) return true;
    trial_.now.rooms = rooms;
    trial_.now.peak_use = peak_use;
    std::copy(accounts.begin(), accounts.end(), trial_.now.accounts.begin());
    trial_.now.host_left = host_left;
    return false;
  }

  static DeviceSet setOf(const ChosenDevices& selected) {
    DeviceSet set = 0;
    for (std::uint8_t k = 0; k < selected.count; ++k) set |= only(selected.at[k]);
    return set;
  }
  static ChosenDevices pickedFrom(const DeviceList& order, DeviceSet group) {
    ChosenDevices selected;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if ((group & only(order.at[k])) != 0) selected.at[selected.count++] = order.at[k];
    return selected;
  }
  // Devices that may join the chosen ones.
  DeviceSet openTo(const ChosenDevices& selected, std::uint8_t chosen) const {
    DeviceSet open = ~DeviceSet{0};
    for (std::uint8_t k = 0; groups_ && k < chosen; ++k) open &= groups_->mates(selected.at[k]);
    return open;
  }
  bool allowed(const ChosenDevices& selected) const {
    return !groups_ || groups_->good(setOf(selected));
  }
  unsigned met(const Plan& plan) const {
    unsigned least = kMaxRules;
    const auto addMet = [&](const std::vector<DeviceDemand>& demands,
                            const std::vector<ChosenDevices>& selected) {
      for (std::size_t k = 0; k < demands.size(); ++k)
        if (!demands[k].part) least = std::min(least, groups_->met(setOf(selected[k])));
    };
    addMet(shape_.init(), plan.init);
    addMet(shape_.containers(), plan.containers);
    return least;
  }

  // Chooses the rest of a container's devices from position `from` of `order` on, then the next
  // container.
  bool choose(std::size_t at, const Candidates& order, std::uint8_t from, std::uint8_t chosen) {
    const DeviceDemand& demand = demands_[at];
    ChosenDevices& selected = selected_[at];
    if (chosen == demand.count) return allowed(selected) && placeFrom(at + 1);
    const DeviceSet open = openTo(selected, chosen);
    const std::uint8_t* failed = nullptr;
    for (std::uint8_t position = from; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      if (!trial_.fits(demand, i) || (open & only(i)) == 0 ||
          (failed != nullptr && !groups_ && trial_.alike(*failed, i)))
        continue;
      if (++tries_ >= kTriesOfNode) return false;
      const DeviceRoom room = trial_.now.rooms[i];
      const PeakUse peak_use = trial_.now.peak_use[i];
      const MemoryAccounts accounts = room.accounts == nullptr ? MemoryAccounts{} : *room.accounts;
      const Bytes host_left = trial_.now.host_left;
      trial_.charge(demand, i);
      selected.at[chosen] = i;
      selected.count = static_cast<std::uint8_t>(chosen + 1);
      if (choose(at, order, static_cast<std::uint8_t>(position + 1), selected.count)) return true;
      trial_.now.rooms[i] = room;
      trial_.now.peak_use[i] = peak_use;
      if (room.accounts != nullptr) trial_.now.accounts[i] = accounts;
      trial_.now.host_left = host_left;
      failed = &order.at[position];
    }
    return false;
  }

  // Among equal asks a later one gets a later device. The reverse order was tried as well.
  bool behind(std::size_t at, std::size_t device, PartPick way) const {
    if (!demands_[at].again) return true;
    const std::size_t before = selected_[at - 1].at[0];
    if (device != before) return device > before;
    const PartPick last = ways_[at - 1];
    return trial_.now.parts[device].parting->slices > 0 ? way.start < last.start
                                                        : way.part >= last.part;
  }

  bool choosePart(std::size_t at, const Candidates& order) {
    const DeviceDemand& demand = demands_[at];
    for (std::uint8_t position = 0; position < order.count; ++position) {
      const std::uint8_t i = order.at[position];
      const Partitioning* parting = trial_.now.parts[i].parting;
      if (parting == nullptr || trial_.now.parts[i].verdict != kOpen) continue;
      if (partVerdictOn(trial_.now.rooms[i], demand) != kOpen) continue;
      const DeviceRoom room = trial_.now.rooms[i];
      const PeakUse peak_use = trial_.now.peak_use[i];
      const PartRoom left = trial_.now.parts[i].room;
      for (const PartPick way :
           waysFor(*parting, left, partRequestOf(shape_, demand, room.memory_total))) {
        if (!behind(at, i, way)) continue;
        if (++tries_ >= kTriesOfNode) return false;
        trial_.chargePartition(i, parting->parts[way.part], way.start);
        selected_[at].count = 1;
        selected_[at].at[0] = i;
        ways_[at] = way;
        if (placeFrom(at + 1)) return true;
        trial_.now.rooms[i] = room;
        trial_.now.peak_use[i] = peak_use;
        trial_.now.parts[i].room = left;
      }
    }
    return false;
  }

  // Chooses on the node as it is then. Prefers devices that need least host memory, then devices
  // that the other containers get anyway.
  bool pickInit(std::span<const DeviceDemand> demands, const PeakUses& together) {
    selected_.clear();
    return std::all_of(demands.begin(), demands.end(),
                       [&](const DeviceDemand& demand) { return pickInit(demand, together); });
  }

  bool pickInit(const DeviceDemand& demand, const PeakUses& together) {
    Candidates order = trial_.sorted(demand);
    const auto begin = order.at.begin();
    const auto end = begin + order.count;
    std::stable_partition(begin, end, [&](std::uint8_t i) { return together[i].slots > 0; });
    std::stable_sort(begin, end, [&](std::uint8_t a, std::uint8_t b) {
      return trial_.added(demand, a) < trial_.added(demand, b);
    });
    const ChosenDevices selected =
        groups_ ? groupOf(order, demand, together) : trial_.firstOf(order, demand);
    selected_.push_back(selected);
    if (selected.count != demand.count || trial_.added(demand, selected) > trial_.now.host_left)
      return false;
    for (std::uint8_t k = 0; k < selected.count; ++k) trial_.charge(demand, selected.at[k]);
    return true;
  }

  // The best group of devices that the other containers get, or of all. If host memory does not
  // suffice for it, the first group for which it does.
  ChosenDevices groupOf(const Candidates& order, const DeviceDemand& demand,
                        const PeakUses& together) {
    Candidates held;
    for (std::uint8_t k = 0; k < order.count; ++k)
      if (together[order.at[k]].slots > 0) held.at[held.count++] = order.at[k];
    for (const Candidates& list : {held, order}) {
      const Groups::GroupChoice best = bestOf(demand, list);
      if (!best.group) continue;
      const ChosenDevices selected = pickedFrom(list, *best.group);
      if (trial_.added(demand, selected) <= trial_.now.host_left) return selected;
    }
    ChosenDevices selected;
    return seek(order, demand, 0, &selected) ? selected : ChosenDevices{};
  }

  bool seek(const Candidates& order, const DeviceDemand& demand, std::uint8_t from,
            ChosenDevices* selected) {
    if (trial_.added(demand, *selected) > trial_.now.host_left || ++tries_ >= kTriesOfNode)
      return false;
    if (selected->count == demand.count) return allowed(*selected);
    const DeviceSet open = openTo(*selected, selected->count);
    for (std::uint8_t k = from; k < order.count; ++k) {
      if ((open & only(order.at[k])) == 0 || !trial_.fits(demand, order.at[k])) continue;
      selected->at[selected->count++] = order.at[k];
      if (seek(order, demand, static_cast<std::uint8_t>(k + 1), selected)) return true;
      --selected->count;
    }
    return false;
  }

  const ShapeClass& shape_;
  TrialNode trial_;
  std::optional<Groups> groups_;
  std::span<const DeviceDemand> demands_;
  std::optional<RemainingDemand> needs_;  // of demands_
  std::vector<ChosenDevices> selected_;
  std::vector<PartPick> ways_;
  const TrialNode::FreeCapacity* fresh_ = nullptr;  // before anything was tried
  bool in_init_ = false;
  Plan plan_;
  std::uint32_t tries_ = 0;
  bool gave_up_ = false;
};

}  // namespace

PeakUse peakUseOf(const DeviceDemand& demand, const HotState& state, std::uint32_t device) {
  const auto bytes = [](Bytes of) { return static_cast<std::int64_t>(of.count); };
  // Mutex takes all slots.
  const auto slots =
      demand.keeps_off ? static_cast<std::uint32_t>(state.device.slots_free[device]) : 1u;
  if (state.device.terms[device] == 0) {
    const std::int64_t limit = bytesOf(demand, state.device.memory_total[device]);
    return {limit, demand.compute, slots, 0, limit, 0, 0, 0, 0, true};
  }
  const Part part = partOf(demand, state.device.accounts[device]);
  return {bytes(part.reserve()),
          demand.compute,
          slots,
          bytes(part.outside),
          bytes(part.floor + part.outside),
          bytes(part.limit - part.floor),
          0,
          0,
          0,
          true};
}

PlanResult planOn(const HotState& state, const ShapeClass& shape, Slot slot, SearchPass& pass) {
  // Cheap results are not worth keeping.
  constexpr std::uint32_t kDear = 64;
  constexpr std::size_t kMaxKept = 256;
  Search search(state, shape, slot);
  std::string image = search.image();
  if (const auto known = pass.found.find(image); known != pass.found.end() && !image.empty())
    return known->second;
  if (pass.budget.spent()) return {std::nullopt, PlanOutcome::kPutOff};
  PlanResult planned = search.run();
  pass.budget.spend(search.tries() + 1);
  if (!image.empty() && search.tries() >= kDear && pass.found.size() < kMaxKept)
    pass.found.emplace(std::move(image), planned);
  return planned;
}

}  // namespace divvy::engine
