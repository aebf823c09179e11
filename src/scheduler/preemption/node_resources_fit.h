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

class Rooms {
 public:
  // Both outlive it.
  Rooms(const Books& books, const Lodgers& lodgers) : books_(books), lodgers_(lodgers) {}

  // A pod that is to be on a node.
  struct Guest {
    const kube::Pod* pod;
    std::string node;
  };
  // Places in `guests` of those for whom there is no room on their node beside who is there,
  // without `gone` (UIDs), and beside the guests before them. What a node does not say it has
  // enough of.
  std::vector<std::size_t> over(const std::vector<Guest>& guests,
                                const std::set<std::string>& gone) const;

 private:
  const Books& books_;
  const Lodgers& lodgers_;
};

}  // namespace divvy::scheduler
