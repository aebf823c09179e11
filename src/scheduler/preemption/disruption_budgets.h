// PodDisruptionBudgets, and how evictions use them up. Pure. Private.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/budget.h"
#include "preemption/running_pods.h"

namespace divvy::scheduler {

class DisruptionBudgets {
 public:
  void set(kube::DisruptionBudget budget);
  void remove(const std::string& uid) { all_.erase(uid); }
  // Records an eviction: the budgets that cover the pod allow one disruption less.
  void spend(const RunningPod& running);
  // Returns the budgets that cover the pod; none cover a pod that has not started. Valid until the
  // next set() or remove().
  std::vector<const kube::DisruptionBudget*> of(const RunningPod& running) const;

 private:
  std::map<std::string, kube::DisruptionBudget> all_;  // by UID
};

}  // namespace divvy::scheduler
