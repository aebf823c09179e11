#include "core/disruptions.h"

#include <algorithm>

namespace divvy::engine {

Disruptions::Disruptions(const DefragmentationOptions& terms, const std::vector<RequestId>& there)
    : terms_(&terms), left_(terms.budgets) {
  for (const RequestId& id : there) {
    const auto move = terms.of.find(id);
    if (move != terms.of.end() && !move->second.group.empty())
      groups_[move->second.group].push_back(id);
  }
}

std::vector<RequestId> Disruptions::with(const RequestId& id) const {
  const std::string& group = terms_->of.at(id).group;
  return group.empty() ? std::vector<RequestId>{id} : groups_.at(group);
}

bool Disruptions::interrupt(const std::vector<RequestId>& all) {
  std::set<RequestId> more;
  for (const RequestId& id : all)
    for (const RequestId& one : with(id))
      if (interrupted_.count(one) == 0) more.insert(one);
  std::map<std::string, std::int64_t> needed;
  for (const RequestId& id : more) {
    const std::string& budget = terms_->of.at(id).budget;
    if (!budget.empty()) ++needed[budget];
  }
  for (const auto& [budget, count] : needed) {
    const auto left = left_.find(budget);
    if (left == left_.end() || left->second < count) return false;
  }
  for (const auto& [budget, count] : needed) left_[budget] -= count;
  for (const RequestId& id : more) work_lost_ += terms_->of.at(id).work_lost;
  interrupted_.insert(more.begin(), more.end());
  return true;
}

}  // namespace divvy::engine
