#include "victims.h"

#include <algorithm>
#include <limits>

namespace divvy::engine {

Result<void> checkStakes(const Stakes& stakes) {
  for (const auto& [id, stake] : stakes.of)
    if (stake.work_lost < 0)
      return Error{ErrorCode::kUsage, "request " + id.text + ": loses " +
                                          std::to_string(stake.work_lost) +
                                          " of work; accepted: 0 or more"};
  return {};
}

Victims::Victims(const Stakes& stakes, std::int64_t priority, const std::vector<RequestId>& there)
    : stakes_(stakes) {
  std::map<std::string, std::vector<RequestId>> groups;
  std::vector<std::vector<RequestId>> together;
  for (const RequestId& id : there) {
    const auto stake = stakes.of.find(id);
    if (stake == stakes.of.end()) continue;
    if (stake->second.group.empty()) {
      together.push_back({id});
    } else {
      groups[stake->second.group].push_back(id);
    }
  }
  for (auto& [name, members] : groups) together.push_back(std::move(members));
  for (std::vector<RequestId>& all : together) {
    Unit unit{std::move(all), std::numeric_limits<std::int64_t>::min(), 0};
    for (const RequestId& id : unit.all) {
      const Stake& stake = stakes.of.at(id);
      unit.highest = std::max(unit.highest, stake.priority);
      unit.work += stake.work_lost;
    }
    if (unit.highest >= priority) continue;
    for (const RequestId& id : unit.all) of_[id] = units_.size();
    units_.push_back(std::move(unit));
  }
}

const Unit* Victims::of(const RequestId& id) const {
  const auto at = of_.find(id);
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
