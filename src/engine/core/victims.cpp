#include "core/victims.h"

#include <algorithm>
#include <limits>
#include <map>

namespace divvy::engine {

Result<void> checkStakes(const EvictionCosts& stakes) {
  for (const auto& [id, stake] : stakes.of)
    if (stake.work_lost < 0)
      return Error{ErrorCode::kUsage, "request " + id.text + ": loses " +
                                          std::to_string(stake.work_lost) +
                                          " of work; accepted: 0 or more"};
  return {};
}

Victims::Victims(const EvictionCosts& stakes, std::int64_t priority,
                 const std::vector<RequestId>& there)
    : stakes_(stakes) {
  std::map<std::string, Unit> groups;
  std::vector<Unit> together;
  const auto add = [](Unit* unit, const RequestId& id, const EvictionCost& stake) {
    unit->all.push_back(id);
    unit->of_each.push_back(&stake);
    const bool first = unit->all.size() == 1;
    unit->highest = first ? stake.priority : std::max(unit->highest, stake.priority);
    unit->work += stake.work_lost;
  };
  // Both ascend.
  auto at = stakes.of.begin();
  for (const RequestId& id : there) {
    while (at != stakes.of.end() && at->first < id) ++at;
    if (at == stakes.of.end()) break;
    if (at->first != id) continue;
    const EvictionCost& stake = at->second;
    add(stake.group.empty() ? &together.emplace_back() : &groups[stake.group], id, stake);
  }
  for (auto& [name, unit] : groups) together.push_back(std::move(unit));
  for (Unit& unit : together) {
    if (unit.highest >= priority) continue;
    units_.push_back(std::move(unit));
  }
  for (std::size_t i = 0; i < units_.size(); ++i)
    for (const RequestId& id : units_[i].all) of_[id.text] = i;
}

const Unit* Victims::of(const RequestId& id) const {
  const auto at = of_.find(id.text);
  return at == of_.end() ? nullptr : &units_[at->second];
}

PreemptionCost Victims::costOf(const Units& units) const {
  PreemptionCost cost;
  cost.highest = std::numeric_limits<std::int64_t>::min();
  std::map<std::string, std::int64_t> ends;
  for (const Unit* unit : units) {
    cost.highest = std::max(cost.highest, unit->highest);
    cost.work_lost += unit->work;
    cost.ends += static_cast<std::int64_t>(unit->all.size());
    for (const EvictionCost* stake : unit->of_each)
      if (!stake->budget.empty()) ++ends[stake->budget];
  }
  for (const auto& [budget, count] : ends) {
    const auto allowed = stakes_.budgets.find(budget);
    const std::int64_t left = allowed == stakes_.budgets.end() ? 0 : allowed->second;
    cost.violations += std::max<std::int64_t>(count - std::max<std::int64_t>(left, 0), 0);
  }
  return cost;
}

void Victims::dearestFirst(Units* units) const {
  std::vector<std::pair<PreemptionCost, const Unit*>> costs;
  for (const Unit* unit : *units) costs.emplace_back(costOf({unit}), unit);
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return b.first < a.first; });
  for (std::size_t i = 0; i < costs.size(); ++i) (*units)[i] = costs[i].second;
}

std::vector<RequestId> Victims::idsOf(const Units& units) const {
  std::vector<RequestId> ids;
  for (const Unit* unit : units) ids.insert(ids.end(), unit->all.begin(), unit->all.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace divvy::engine
