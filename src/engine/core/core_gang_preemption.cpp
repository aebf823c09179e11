// Victims for a whole gang: evictions are tried in the engine and taken back.
#include <algorithm>
#include <unordered_map>

#include "core/gang_placement.h"
#include "core/victim_search.h"

namespace divvy::engine {
namespace {

// With at most so many units every set is tried, within kMaxTried.
constexpr std::size_t kEverySet = 12;
constexpr std::uint32_t kMaxTried = 20'000;
// Sets that are tried for one member.
constexpr std::uint32_t kMaxSets = 2000;

}  // namespace

class Engine::Core::GangVictimSearch {
 public:
  GangVictimSearch(Core& core, const Gang& gang, const Victims& victims)
      : core_(core), gang_(gang), victims_(victims) {}

  std::optional<GangPreemption> best();

 private:
  using Slots = GangPlacer::Slots;

  EvictionUnits unitsOn(const Slots& slots);
  void lift(const EvictionUnits& units, std::size_t from, std::size_t to, int sign);
  void end(const EvictionUnit* unit) { lift({unit}, 0, 1, -1); }
  void bringBack(const EvictionUnit* unit) { lift({unit}, 0, 1, 1); }
  void endAll(const EvictionUnits& units, std::size_t from, std::size_t to) {
    lift(units, from, to, -1);
  }
  void bringAllBack(const EvictionUnits& units, std::size_t from, std::size_t to) {
    lift(units, from, to, 1);
  }
  // Each member that is booked for trial costs at least as much as a try.
  void spend() { core_.budget_.spend(static_cast<std::uint32_t>(gang_.members.size())); }
  bool over() const { return core_.budget_.spent(); }
  bool fits();                      // by placeGang
  bool fitsOn(const Slots& slots);  // there, at once or by placeGang
  void consider(const EvictionUnits& units);
  void explore(const EvictionUnits& units, std::size_t left, EvictionUnits* chosen);
  std::optional<EvictionUnits> oneByOne(const Slots& slots);
  void spare(const Slots& slots, const EvictionUnits& units, std::size_t from, std::size_t to,
             EvictionUnits* chosen);
  void recordCheaper(EvictionUnits units);
  void evaluate(const Slots& slots);

  Core& core_;
  const Gang& gang_;
  const Victims& victims_;
  // of units on nodes seen so far
  std::unordered_map<const EvictionUnit*, std::vector<const BookedRequest*>> placed_;
  EvictionUnits best_;
  std::optional<PreemptionCost> cost_;
  std::uint32_t tried_ = 0;
};

// The most expensive first.
EvictionUnits Engine::Core::GangVictimSearch::unitsOn(const Slots& slots) {
  EvictionUnits units;
  std::set<const EvictionUnit*> seen;
  for (const Slot slot : slots) {
    for (const RequestId& id : core_.on_[slot]) {
      const EvictionUnit* unit = victims_.of(id);
      if (unit == nullptr || !seen.insert(unit).second) continue;
      units.push_back(unit);
      std::vector<const BookedRequest*>& members = placed_[unit];
      for (const RequestId& one : members.empty() ? unit->all : std::vector<RequestId>())
        members.push_back(&core_.allocations_.at(one));
    }
  }
  victims_.dearestFirst(&units);
  return units;
}

// Frees the capacity of the units (-1) or charges it again (1). They stay booked: that costs a
// tenth of removing them. The arrays of each node are computed once.
void Engine::Core::GangVictimSearch::lift(const EvictionUnits& units, std::size_t from,
                                          std::size_t to, int sign) {
  std::vector<const BookedRequest*> all;
  for (; from < to; ++from) {
    const std::vector<const BookedRequest*>& members = placed_.at(units[from]);
    all.insert(all.end(), members.begin(), members.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const BookedRequest* a, const BookedRequest* b) {
    return a->slot < b->slot;
  });
  for (auto at = all.begin(); at != all.end();) {
    const Slot slot = (*at)->slot;
    core_.count(slot, -1);
    for (; at != all.end() && (*at)->slot == slot; ++at)
      core_.state_.charge(slot, (*at)->allocation.placement, sign);
    core_.changed(slot);
  }
}

bool Engine::Core::GangVictimSearch::fits() {
  spend();
  GangPlacer placer(core_, gang_, Instant{0});
  std::vector<std::string> where;
  const bool all = placer.place(&where);
  placer.undo();
  return all;
}

bool Engine::Core::GangVictimSearch::fitsOn(const Slots& slots) {
  spend();
  GangPlacer placer(core_, gang_, Instant{0});
  const bool all = placer.placeOn(slots);
  placer.undo();
  return all;
}

// Must be called while the units are not evicted.
void Engine::Core::GangVictimSearch::consider(const EvictionUnits& units) {
  const PreemptionCost cost = victims_.costOf(units);
  if (cost_ && !(cost < *cost_)) return;
  best_ = units;
  cost_ = cost;
}

// As VictimSearch::explore.
void Engine::Core::GangVictimSearch::explore(const EvictionUnits& units, std::size_t left,
                                             EvictionUnits* chosen) {
  for (; left > 0 && tried_ < kMaxTried && !over(); --left) {
    const EvictionUnit& unit = *units[left - 1];
    chosen->push_back(&unit);
    if (!cost_ || victims_.costOf(*chosen) < *cost_) {
      ++tried_;
      end(&unit);
      if (fits()) {
        consider(*chosen);
      } else {
        explore(units, left - 1, chosen);
      }
      bringBack(&unit);
    }
    chosen->pop_back();
  }
}

// Places each member where it fits, or on the node with the cheapest victims. The chosen units stay
// evicted.
std::optional<EvictionUnits> Engine::Core::GangVictimSearch::oneByOne(const Slots& slots) {
  GangPlacer placer(core_, gang_, Instant{0});
  EvictionUnits chosen;
  bool all = true;
  for (const std::size_t member : placer.order()) {
    all = placer.placeMember(member, slots);
    if (all) continue;
    Result<ShapeClass> shape = core_.classOf(gang_.members[member]);
    if (!shape) break;
    const auto found =
        VictimSearch(core_, *std::move(shape), victims_, chosen, kMaxSets).best(slots);
    if (!found) break;
    for (const EvictionUnit* unit : found->units) {
      end(unit);
      chosen.push_back(unit);
    }
    all = placer.placeMember(member, {found->slot});
    if (!all) break;
  }
  placer.undo();
  if (all) return chosen;
  bringAllBack(chosen, 0, chosen.size());
  return std::nullopt;
}

// Restores evicted units in [from, to) that are not needed, and adds the others to `chosen`. The
// most expensive ones are spared first.
void Engine::Core::GangVictimSearch::spare(const Slots& slots, const EvictionUnits& units,
                                           std::size_t from, std::size_t to,
                                           EvictionUnits* chosen) {
  bringAllBack(units, from, to);
  if (from == to || fitsOn(slots)) return;
  endAll(units, from, to);
  if (to - from == 1) return chosen->push_back(units[from]);
  const std::size_t middle = from + (to - from) / 2;
  spare(slots, units, from, middle, chosen);
  spare(slots, units, middle, to, chosen);
}

// Takes evicted units, restores them, and considers those that are needed.
void Engine::Core::GangVictimSearch::recordCheaper(EvictionUnits units) {
  bool enough = fits();
  for (bool again = enough; again && !over();) {
    again = false;
    victims_.dearestFirst(&units);
    for (std::size_t i = 0; i < units.size() && !over();) {
      bringBack(units[i]);
      if (fits()) {
        units.erase(units.begin() + static_cast<long>(i));
        again = true;
      } else {
        end(units[i++]);
      }
    }
  }
  bringAllBack(units, 0, units.size());
  // Without tries left the needed units are unknown.
  if (enough && !over()) consider(units);
}

void Engine::Core::GangVictimSearch::evaluate(const Slots& slots) {
  const EvictionUnits units = unitsOn(slots);
  if (units.empty() || over()) return;
  endAll(units, 0, units.size());
  if (!fits()) return bringAllBack(units, 0, units.size());
  EvictionUnits chosen;
  spare(slots, units, 0, units.size(), &chosen);
  recordCheaper(std::move(chosen));
  if (std::optional<EvictionUnits> others = oneByOne(slots)) recordCheaper(std::move(*others));
  chosen.clear();
  if (units.size() <= kEverySet) explore(units, units.size(), &chosen);
}

std::optional<GangPreemption> Engine::Core::GangVictimSearch::best() {
  const Trial trial(core_);
  for (const Slots& slots : GangPlacer(core_, gang_, Instant{0}).whole()) evaluate(slots);
  if (!cost_) return std::nullopt;
  return GangPreemption{victims_.idsOf(best_), *cost_};
}

Result<std::optional<GangPreemption>> Engine::Core::preemptGang(const Gang& gang,
                                                                std::int64_t priority,
                                                                const EvictionCosts& costs) {
  if (const Result<void> checked = checkGang(gang); !checked) return checked.error();
  if (const Result<void> checked = checkEvictionCosts(costs); !checked) return checked.error();
  GangPlacer placer(*this, gang, Instant{0});
  std::vector<std::string> where;
  const bool fits = placer.place(&where);
  placer.undo();
  if (fits)
    return Error{ErrorCode::kUsage, "the gang of " + std::to_string(gang.members.size()) +
                                        " fits as it is; no victim is needed"};
  const Victims victims(costs, priority, allocatedIds());
  return GangVictimSearch(*this, gang, victims).best();
}

}  // namespace divvy::engine
