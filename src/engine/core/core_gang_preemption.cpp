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

  Units unitsOn(const Slots& slots);
  void lift(const Units& units, std::size_t from, std::size_t to, int sign);
  void end(const Unit* unit) { lift({unit}, 0, 1, -1); }
  void bringBack(const Unit* unit) { lift({unit}, 0, 1, 1); }
  void endAll(const Units& units, std::size_t from, std::size_t to) { lift(units, from, to, -1); }
  void bringAllBack(const Units& units, std::size_t from, std::size_t to) {
    lift(units, from, to, 1);
  }
  // Each member that is booked for trial costs at least as much as a try.
  void spend() { core_.budget_.spend(static_cast<std::uint32_t>(gang_.members.size())); }
  bool over() const { return core_.budget_.spent(); }
  bool fits();                      // by placeGang
  bool fitsOn(const Slots& slots);  // there, at once or by placeGang
  void consider(const Units& units);
  void explore(const Units& units, std::size_t left, Units* chosen);
  std::optional<Units> oneByOne(const Slots& slots);
  void spare(const Slots& slots, const Units& units, std::size_t from, std::size_t to,
             Units* chosen);
  void settle(Units units);
  void look(const Slots& slots);

  Core& core_;
  const Gang& gang_;
  const Victims& victims_;
  // of units on nodes seen so far
  std::unordered_map<const Unit*, std::vector<const Reserved*>> booked_;
  Units best_;
  std::optional<PreemptionCost> cost_;
  std::uint32_t tried_ = 0;
};

// The most expensive first.
Units Engine::Core::GangVictimSearch::unitsOn(const Slots& slots) {
  Units units;
  std::set<const Unit*> seen;
  for (const Slot slot : slots) {
    for (const RequestId& id : core_.on_[slot]) {
      const Unit* unit = victims_.of(id);
      if (unit == nullptr || !seen.insert(unit).second) continue;
      units.push_back(unit);
      std::vector<const Reserved*>& members = booked_[unit];
      for (const RequestId& one : members.empty() ? unit->all : std::vector<RequestId>())
        members.push_back(&core_.books_.at(one));
    }
  }
  victims_.dearestFirst(&units);
  return units;
}

// Frees the capacity of the units (-1) or charges it again (1). They stay booked: that costs a
// tenth of removing them. The arrays of each node are computed once.
void Engine::Core::GangVictimSearch::lift(const Units& units, std::size_t from, std::size_t to,
                                          int sign) {
  std::vector<const Reserved*> all;
  for (; from < to; ++from) {
    const std::vector<const Reserved*>& members = booked_.at(units[from]);
    all.insert(all.end(), members.begin(), members.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Reserved* a, const Reserved* b) { return a->slot < b->slot; });
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
  GangPlacer muster(core_, gang_, Instant{0});
  std::vector<std::string> where;
  const bool all = muster.place(&where);
  muster.takeBack();
  return all;
}

bool Engine::Core::GangVictimSearch::fitsOn(const Slots& slots) {
  spend();
  GangPlacer muster(core_, gang_, Instant{0});
  const bool all = muster.book(slots);
  muster.takeBack();
  return all;
}

// Must be called while the units are not evicted.
void Engine::Core::GangVictimSearch::consider(const Units& units) {
  const PreemptionCost cost = victims_.costOf(units);
  if (cost_ && !(cost < *cost_)) return;
  best_ = units;
  cost_ = cost;
}

// As VictimSearch::explore.
void Engine::Core::GangVictimSearch::explore(const Units& units, std::size_t left, Units* chosen) {
  for (; left > 0 && tried_ < kMaxTried && !over(); --left) {
    const Unit& unit = *units[left - 1];
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
std::optional<Units> Engine::Core::GangVictimSearch::oneByOne(const Slots& slots) {
  GangPlacer muster(core_, gang_, Instant{0});
  Units chosen;
  bool all = true;
  for (const std::size_t member : muster.order()) {
    all = muster.bookOne(member, slots);
    if (all) continue;
    Result<ShapeClass> shape = core_.classOf(gang_.members[member]);
    if (!shape) break;
    const auto found =
        VictimSearch(core_, *std::move(shape), victims_, chosen, kMaxSets).best(slots);
    if (!found) break;
    for (const Unit* unit : found->units) {
      end(unit);
      chosen.push_back(unit);
    }
    all = muster.bookOne(member, {found->slot});
    if (!all) break;
  }
  muster.takeBack();
  if (all) return chosen;
  bringAllBack(chosen, 0, chosen.size());
  return std::nullopt;
}

// Restores evicted units in [from, to) that are not needed, and adds the others to `chosen`. The
// most expensive ones are spared first.
void Engine::Core::GangVictimSearch::spare(const Slots& slots, const Units& units, std::size_t from,
                                           std::size_t to, Units* chosen) {
  bringAllBack(units, from, to);
  if (from == to || fitsOn(slots)) return;
  endAll(units, from, to);
  if (to - from == 1) return chosen->push_back(units[from]);
  const std::size_t middle = from + (to - from) / 2;
  spare(slots, units, from, middle, chosen);
  spare(slots, units, middle, to, chosen);
}

// Takes evicted units, restores them, and considers those that are needed.
void Engine::Core::GangVictimSearch::settle(Units units) {
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

void Engine::Core::GangVictimSearch::look(const Slots& slots) {
  const Units units = unitsOn(slots);
  if (units.empty() || over()) return;
  endAll(units, 0, units.size());
  if (!fits()) return bringAllBack(units, 0, units.size());
  Units chosen;
  spare(slots, units, 0, units.size(), &chosen);
  settle(std::move(chosen));
  if (std::optional<Units> others = oneByOne(slots)) settle(std::move(*others));
  chosen.clear();
  if (units.size() <= kEverySet) explore(units, units.size(), &chosen);
}

std::optional<GangPreemption> Engine::Core::GangVictimSearch::best() {
  const Trial trial(core_);
  for (const Slots& slots : GangPlacer(core_, gang_, Instant{0}).whole()) look(slots);
  if (!cost_) return std::nullopt;
  return GangPreemption{victims_.idsOf(best_), *cost_};
}

Result<std::optional<GangPreemption>> Engine::Core::preemptGang(const Gang& gang,
                                                                std::int64_t priority,
                                                                const EvictionCosts& stakes) {
  if (const Result<void> checked = checkGang(gang); !checked) return checked.error();
  if (const Result<void> checked = checkStakes(stakes); !checked) return checked.error();
  GangPlacer muster(*this, gang, Instant{0});
  std::vector<std::string> where;
  const bool fits = muster.place(&where);
  muster.takeBack();
  if (fits)
    return Error{ErrorCode::kUsage, "the gang of " + std::to_string(gang.members.size()) +
                                        " fits as it is; nobody has to end"};
  const Victims victims(stakes, priority, bookedIds());
  return GangVictimSearch(*this, gang, victims).best();
}

}  // namespace divvy::engine
