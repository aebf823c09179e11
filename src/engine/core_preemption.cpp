// Who has to end: what a node would be without some of those on it is tried and put back.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core.h"
#include "fit.h"

namespace divvy::engine {
namespace {

// Sets that are tried on all nodes together; beyond, on each node one of which everybody is needed
// is found, and there may be a cheaper one.
constexpr std::uint32_t kMostSets = 100'000;

}  // namespace

class Engine::Core::Siege {
 public:
  Siege(Core& core, ShapeClass shape, std::int64_t priority, const Stakes& stakes)
      : core_(core), shape_(std::move(shape)), priority_(priority), stakes_(stakes) {
    shape_.learn(core.state_.models());
    for (const auto& [id, booked] : core.books_) {
      const auto stake = stakes.of.find(id);
      if (stake == stakes.of.end()) continue;
      if (!stake->second.group.empty()) groups_[stake->second.group].push_back(id);
    }
  }

  std::optional<Preemption> best();

 private:
  // Those that end together.
  struct Unit {
    std::vector<RequestId> all;
    std::vector<const Placement*> here;
    std::int64_t highest = 0;
    std::int64_t work = 0;
  };

  std::vector<Unit> unitsOn(Slot slot) const;
  std::optional<Unit> unitOf(const RequestId& id, Slot slot) const;
  PreemptionCost costOf(const std::vector<const Unit*>& units) const;
  bool fits(Slot slot) const { return !refusalOf(core_.state_, shape_, slot); }
  void charge(Slot slot, const Unit& unit, int sign);
  bool better(const std::vector<const Unit*>& chosen) const {
    return !best_ || costOf(chosen) < best_->cost;
  }
  void take(Slot slot, const std::vector<const Unit*>& chosen);
  void explore(Slot slot, const std::vector<Unit>& units, std::size_t left,
               std::vector<const Unit*>* chosen);
  std::vector<const Unit*> needed(Slot slot, const std::vector<Unit>& units);
  void look(Slot slot);

  Core& core_;
  ShapeClass shape_;
  const std::int64_t priority_;
  const Stakes& stakes_;
  std::map<std::string, std::vector<RequestId>> groups_;
  std::optional<Preemption> best_;
  std::uint32_t sets_ = 0;
};

// None: one of them may not end.
std::optional<Engine::Core::Siege::Unit> Engine::Core::Siege::unitOf(const RequestId& id,
                                                                     Slot slot) const {
  Unit unit;
  unit.highest = std::numeric_limits<std::int64_t>::min();
  const std::string& group = stakes_.of.at(id).group;
  unit.all = group.empty() ? std::vector<RequestId>{id} : groups_.at(group);
  for (const RequestId& member : unit.all) {
    const Stake& stake = stakes_.of.at(member);
    if (stake.priority >= priority_) return std::nullopt;
    unit.highest = std::max(unit.highest, stake.priority);
    unit.work += stake.work_lost;
    const Booked& booked = core_.books_.at(member);
    if (booked.slot == slot) unit.here.push_back(&booked.allocation.placement);
  }
  return unit;
}

// The dearest first.
std::vector<Engine::Core::Siege::Unit> Engine::Core::Siege::unitsOn(Slot slot) const {
  std::vector<Unit> units;
  std::set<std::string> seen;
  for (const RequestId& id : core_.on_[slot]) {
    const auto stake = stakes_.of.find(id);
    if (stake == stakes_.of.end()) continue;
    const std::string& group = stake->second.group;
    if (!group.empty() && !seen.insert(group).second) continue;
    if (auto unit = unitOf(id, slot)) units.push_back(std::move(*unit));
  }
  std::stable_sort(units.begin(), units.end(),
                   [&](const Unit& a, const Unit& b) { return costOf({&b}) < costOf({&a}); });
  return units;
}

PreemptionCost Engine::Core::Siege::costOf(const std::vector<const Unit*>& units) const {
  PreemptionCost cost;
  cost.highest = std::numeric_limits<std::int64_t>::min();
  std::map<std::string, std::int64_t> ends;
  for (const Unit* unit : units) {
    cost.highest = std::max(cost.highest, unit->highest);
    cost.work_lost += unit->work;
    cost.ends += static_cast<std::int64_t>(unit->all.size());
    for (const RequestId& id : unit->all) {
      const std::string& budget = stakes_.of.at(id).budget;
      if (!budget.empty()) ++ends[budget];
    }
  }
  for (const auto& [budget, count] : ends) {
    const auto allowed = stakes_.budgets.find(budget);
    const std::int64_t left = allowed == stakes_.budgets.end() ? 0 : allowed->second;
    cost.violations += std::max<std::int64_t>(count - std::max<std::int64_t>(left, 0), 0);
  }
  return cost;
}

// The node's arrays only: nobody is told of a change, since it is taken back.
void Engine::Core::Siege::charge(Slot slot, const Unit& unit, int sign) {
  for (const Placement* placement : unit.here) core_.state_.charge(slot, *placement, sign);
}

// All of them have ended: puts back whoever need not.
std::vector<const Engine::Core::Siege::Unit*> Engine::Core::Siege::needed(
    Slot slot, const std::vector<Unit>& units) {
  std::vector<const Unit*> chosen;
  for (const Unit& unit : units) {
    charge(slot, unit, 1);
    core_.state_.refresh(slot);
    if (fits(slot)) continue;
    charge(slot, unit, -1);
    chosen.push_back(&unit);
  }
  for (const Unit* unit : chosen) charge(slot, *unit, 1);
  core_.state_.refresh(slot);
  return chosen;
}

void Engine::Core::Siege::take(Slot slot, const std::vector<const Unit*>& chosen) {
  best_ = Preemption{core_.state_.cold[slot].node.name, {}, costOf(chosen)};
  for (const Unit* unit : chosen)
    best_->victims.insert(best_->victims.end(), unit->all.begin(), unit->all.end());
  std::sort(best_->victims.begin(), best_->victims.end());
}

// Sets of `chosen`, who have ended, and some of the first `left` units, the cheapest first. More of
// them never cost less: what is not better than the best is not looked into.
void Engine::Core::Siege::explore(Slot slot, const std::vector<Unit>& units, std::size_t left,
                                  std::vector<const Unit*>* chosen) {
  for (; left > 0 && sets_ < kMostSets; --left) {
    const Unit& unit = units[left - 1];
    chosen->push_back(&unit);
    if (better(*chosen)) {
      ++sets_;
      charge(slot, unit, -1);
      core_.state_.refresh(slot);
      if (fits(slot)) {
        take(slot, *chosen);
      } else {
        explore(slot, units, left - 1, chosen);
      }
      charge(slot, unit, 1);
      core_.state_.refresh(slot);
    }
    chosen->pop_back();
  }
}

void Engine::Core::Siege::look(Slot slot) {
  const std::vector<Unit> units = unitsOn(slot);
  if (units.empty()) return;
  for (const Unit& unit : units) charge(slot, unit, -1);
  core_.state_.refresh(slot);
  if (!fits(slot)) {
    for (const Unit& unit : units) charge(slot, unit, 1);
    core_.state_.refresh(slot);
    return;
  }
  std::vector<const Unit*> chosen = needed(slot, units);
  if (!chosen.empty() && better(chosen)) take(slot, chosen);
  chosen.clear();
  explore(slot, units, units.size(), &chosen);
}

std::optional<Preemption> Engine::Core::Siege::best() {
  for (const Slot slot : core_.order_.slots()) look(slot);
  return best_;
}

Result<std::optional<Preemption>> Engine::Core::preempt(const Request& request,
                                                        std::int64_t priority,
                                                        const Stakes& stakes) {
  if (const Result<void> checked = checkShape(request.shape); !checked) return checked.error();
  for (const auto& [id, stake] : stakes.of)
    if (stake.work_lost < 0)
      return Error{ErrorCode::kUsage, "request " + id.text + ": loses " +
                                          std::to_string(stake.work_lost) +
                                          " of work; accepted: 0 or more"};
  const Result<Decision> decision = decide(request);
  if (!decision) return decision.error();
  if (decision->fits())
    return Error{ErrorCode::kUsage,
                 "request " + request.id.text + " fits as it is; nobody has to end"};
  Result<ShapeClass> shape = classOf(request);
  if (!shape) return shape.error();
  return Siege(*this, std::move(*shape), priority, stakes).best();
}

}  // namespace divvy::engine
