#include <algorithm>

#include "core/victim_search.h"

namespace divvy::engine {
namespace {

constexpr std::uint32_t kMaxSets = 20'000;

}  // namespace

Engine::Core::VictimSearch::VictimSearch(Core& core, ShapeClass shape, const Victims& victims,
                                         EvictionUnits ended, std::uint32_t most_sets)
    : core_(core),
      shape_(std::move(shape)),
      victims_(victims),
      ended_(std::move(ended)),
      most_sets_(most_sets) {
  shape_.learn(core.state_.models());
}

// The most expensive first.
std::vector<Engine::Core::VictimSearch::UnitOnNode> Engine::Core::VictimSearch::unitsOn(
    Slot slot) const {
  std::map<const EvictionUnit*, std::vector<const Placement*>> placements;
  EvictionUnits units;
  for (const RequestId& id : core_.on_[slot]) {
    const EvictionUnit* unit = victims_.of(id);
    if (unit == nullptr || std::find(ended_.begin(), ended_.end(), unit) != ended_.end()) continue;
    std::vector<const Placement*>& here = placements[unit];
    if (here.empty()) units.push_back(unit);
    here.push_back(&core_.allocations_.at(id).allocation.placement);
  }
  victims_.dearestFirst(&units);
  std::vector<UnitOnNode> all;
  for (const EvictionUnit* unit : units) all.push_back({unit, std::move(placements.at(unit))});
  return all;
}

PreemptionCost Engine::Core::VictimSearch::costOf(const EvictionUnits& units) const {
  EvictionUnits all = ended_;
  all.insert(all.end(), units.begin(), units.end());
  return victims_.costOf(all);
}

// Changes the node's arrays only. The change log gets no entry, because the change is taken back.
void Engine::Core::VictimSearch::charge(Slot slot, const UnitOnNode& here, int sign) {
  for (const Placement* placement : here.placements) core_.state_.charge(slot, *placement, sign);
}

// All units are evicted here. Restores each unit that is not needed.
EvictionUnits Engine::Core::VictimSearch::needed(Slot slot, const std::vector<UnitOnNode>& units) {
  std::vector<const UnitOnNode*> gone;
  for (const UnitOnNode& here : units) {
    charge(slot, here, 1);
    if (fits(slot)) continue;
    charge(slot, here, -1);
    gone.push_back(&here);
  }
  EvictionUnits chosen;
  for (const UnitOnNode* here : gone) {
    charge(slot, *here, 1);
    chosen.push_back(here->unit);
  }
  return chosen;
}

// Sets of `chosen`, which are evicted, and some of the first `left` units, the cheapest first. More
// units never cost less, so a set that is not cheaper than the best is not extended.
void Engine::Core::VictimSearch::explore(Slot slot, const std::vector<UnitOnNode>& units,
                                         std::size_t left, EvictionUnits* chosen) {
  for (; left > 0 && sets_ < most_sets_ && !over(); --left) {
    const UnitOnNode& here = units[left - 1];
    chosen->push_back(here.unit);
    if (better(*chosen)) {
      ++sets_;
      charge(slot, here, -1);
      if (fits(slot)) {
        best_ = VictimChoice{slot, *chosen, costOf(*chosen)};
      } else {
        explore(slot, units, left - 1, chosen);
      }
      charge(slot, here, 1);
    }
    chosen->pop_back();
  }
}

void Engine::Core::VictimSearch::evaluate(Slot slot) {
  const std::vector<UnitOnNode> units = unitsOn(slot);
  if (units.empty()) return;
  for (const UnitOnNode& here : units) charge(slot, here, -1);
  if (!fits(slot)) {
    for (const UnitOnNode& here : units) charge(slot, here, 1);
    return;
  }
  EvictionUnits chosen = needed(slot, units);
  // Without tries left the needed units are unknown.
  if (over()) return;
  if (!chosen.empty() && better(chosen)) best_ = VictimChoice{slot, chosen, costOf(chosen)};
  chosen.clear();
  explore(slot, units, units.size(), &chosen);
}

std::optional<Engine::Core::VictimSearch::VictimChoice> Engine::Core::VictimSearch::best(
    const std::vector<Slot>& slots) {
  for (const Slot slot : slots)
    if (!over()) evaluate(slot);
  return best_;
}

std::vector<RequestId> Engine::Core::allocatedIds() const {
  std::vector<RequestId> ids;
  ids.reserve(allocations_.size());
  for (const auto& [id, booked] : allocations_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::optional<Preemption>> Engine::Core::preempt(const Request& request,
                                                        std::int64_t priority,
                                                        const EvictionCosts& costs) {
  if (const Result<void> checked = checkShape(request.shape); !checked) return checked.error();
  if (const Result<void> checked = checkEvictionCosts(costs); !checked) return checked.error();
  const Result<Decision> decision = decide(request);
  if (!decision) return decision.error();
  if (decision->fits())
    return Error{ErrorCode::kUsage,
                 "request " + request.id.text + " fits as it is; no victim is needed"};
  const Victims victims(costs, priority, allocatedIds());
  Result<ShapeClass> shape = classOf(request);
  if (!shape) return shape.error();
  const auto found =
      VictimSearch(*this, *std::move(shape), victims, {}, kMaxSets).best(order_.slots());
  std::optional<Preemption> answer;
  if (found)
    answer =
        Preemption{state_.cold[found->slot].node.name, victims.idsOf(found->units), found->cost};
  return answer;
}

}  // namespace divvy::engine
