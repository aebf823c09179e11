// Processors, memory and number of pods of nodes, as kube-scheduler will count them: whether pods
// that are promised places together can be bound to all of them. Pure. Private.
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
  // Both outlive it.
  NodeResourcesFit(const SchedulerCache& cache, const RunningPods& running_pods)
      : cache_(cache), running_pods_(running_pods) {}

  // A pod that is to be on a node.
  struct Guest {
    const kube::Pod* pod;
    std::string node;
  };
  // Places in `guests` of those for whom there is no room on their node beside who is there,
  // without `gone` (UIDs), and beside the guests before them. What a node does not say it has
  // enough of.
  std::vector<std::size_t> exceeding(const std::vector<Guest>& guests,
                                     const std::set<std::string>& gone) const;

 private:
  const SchedulerCache& cache_;
  const RunningPods& running_pods_;
};

}  // namespace divvy::scheduler
