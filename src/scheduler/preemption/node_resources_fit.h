// Node resources fit: whether CPU, memory and pod count of nodes suffice for pods with
// reservations, as kube-scheduler will count them. Pure. Private.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/pod.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

class NodeResourcesFit {
 public:
  // `cache` and `running_pods` outlive it.
  NodeResourcesFit(const SchedulerCache& cache, const RunningPods& running_pods)
      : cache_(cache), running_pods_(running_pods) {}

  // A pod that is to be on a node.
  struct Guest {
    const kube::Pod* pod;
    std::string node;
  };
  // Returns the indices in `guests` of pods that do not fit their node, beside the running pods and
  // earlier guests there. Pods with a UID in `gone` do not count. A node has enough of a resource
  // that it does not state.
  std::vector<std::size_t> exceeding(const std::vector<Guest>& guests,
                                     const std::set<std::string>& gone) const;

 private:
  const SchedulerCache& cache_;
  const RunningPods& running_pods_;
};

}  // namespace divvy::scheduler
