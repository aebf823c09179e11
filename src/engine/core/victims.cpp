#include "core/victims.h"

#include <algorithm>
#include <limits>
#include <map>

namespace divvy::engine {

Result<void> checkEvictionCosts(const EvictionCosts& costs) {
  for (const auto& [id, cost] : costs.of)
    if (cost.work_lost < 0)
      return Error{ErrorCode::kUsage, "request " + id.text + ": loses " +
                                          std::to_string(cost.work_lost) +
                                          " of work; accepted: 0 or more"};
  return {};
}

Victims::Victims(const EvictionCosts& costs, std::int64_t priority,
                 const std::vector<RequestId>& there)
    : costs_(costs) {
  std::map<std::string, EvictionUnit> groups;
  std::vector<EvictionUnit> together;
  const auto add = [](EvictionUnit* unit, const RequestId& id, const EvictionCost& cost) {
    unit->all.push_back(id);
    unit->of_each.push_back(&cost);
    const bool first = unit->all.size() == 1;
    unit->highest = first ? cost.priority : std::max(unit->highest, cost.priority);
    unit->work += cost.work_lost;
  };
  // Both ascend.
  auto at = costs.of.begin();
  for (const RequestId& id : there) {
    while (at != costs.of.end() && at->first < id) ++at;
    if (at == costs.of.end()) break;
    if (at->first != id) continue;
    const EvictionCost& cost = at->second;
    add(cost.group.empty() ? &together.emplace_back() : &groups[cost.group], id, cost);
  }
  for (auto& [name, unit] : groups) together.push_back(std::move(unit));
  for (EvictionUnit& unit : together) {
    if (unit.highest >= priority) continue;
    units_.push_back(std::move(unit));
  }
  for (std::size_t i = 0; i < units_.size(); ++i)
    for (const RequestId& id : units_[i].all) of_[id.text] = i;
}

const EvictionUnit* Victims::of(const RequestId& id) const {
  const auto at = of_.find(id.text);
  return at == of_.end() ? nullptr : &units_[at->second];
}

PreemptionCost Victims::costOf(const EvictionUnits& units) const {
  PreemptionCost cost;
  cost.highest = std::numeric_limits<std::int64_t>::min();
  std::map<std::string, std::int64_t> ends;
  for (const EvictionUnit* unit : units) {
    cost.highest = std::max(cost.highest, unit->highest);
    cost.work_lost += unit->work;
    cost.ends += static_cast<std::int64_t>(unit->all.size());
    for (const EvictionCost* each : unit->of_each)
      if (!each->budget.empty()) ++ends[each->budget];
  }
  for (const auto& [budget, count] : ends) {
    const auto allowed = costs_.budgets.find(budget);
    const std::int64_t left = allowed == costs_.budgets.end() ? 0 : allowed->second;
    cost.violations += std::max<std::int64_t>(count - std::max<std::int64_t>(left, 0), 0);
  }
  return cost;
}

void Victims::dearestFirst(EvictionUnits* units) const {
  std::vector<std::pair<PreemptionCost, const EvictionUnit*>> costs;
  for (const EvictionUnit* unit : *units) costs.emplace_back(costOf({unit}), unit);
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return b.first < a.first; });
  for (std::size_t i = 0; i < costs.size(); ++i) (*units)[i] = costs[i].second;
}

std::vector<RequestId> Victims::idsOf(const EvictionUnits& units) const {
  std::vector<RequestId> ids;
  for (const EvictionUnit* unit : units) ids.insert(ids.end(), unit->all.begin(), unit->all.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace divvy::engine
