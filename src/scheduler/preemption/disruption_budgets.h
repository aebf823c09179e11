// PodDisruptionBudgets, as evictions spend them. Pure. Private.
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
  // It is evicted: what it is under lets one less go.
  void spend(const RunningPod& running);
  // Those that a pod is under.
  std::vector<const kube::DisruptionBudget*> of(const RunningPod& running) const;

 private:
  std::map<std::string, kube::DisruptionBudget> all_;  // by UID
};

}  // namespace divvy::scheduler
