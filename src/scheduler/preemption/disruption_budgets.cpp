#include "preemption/disruption_budgets.h"

#include <utility>

namespace divvy::scheduler {

void DisruptionBudgets::set(kube::DisruptionBudget budget) {
  const std::string uid = budget.meta.uid;
  all_.insert_or_assign(uid, std::move(budget));
}

void DisruptionBudgets::spend(const RunningPod& running) {
  if (!running.started) return;
  for (auto& [uid, one] : all_)
    if (one.covers(running.namespace_name, running.labels)) --one.allowed;
}

std::vector<const kube::DisruptionBudget*> DisruptionBudgets::of(const RunningPod& running) const {
  std::vector<const kube::DisruptionBudget*> found;
  // A pod that has not started is evicted regardless of budgets.
  if (!running.started) return found;
  for (const auto& [uid, one] : all_)
    if (one.covers(running.namespace_name, running.labels)) found.push_back(&one);
  return found;
}

}  // namespace divvy::scheduler
