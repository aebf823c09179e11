// What a node has left for pods beside devices, as kube-scheduler counts it. Pure. Private.
#pragma once

#include <cstdint>

#include "kube/pod.h"
#include "preemption/running_pods.h"

namespace divvy::scheduler {

// A resource that a node does not state is enough for all pods.
struct NodeResources {
  std::int64_t cpu = 0;     // thousandths
  std::int64_t memory = 0;  // bytes
  std::int64_t pods = 0;

  void take(const PodResources& pod);
  void give(const PodResources& pod);
  // Returns true if nothing is overcommitted.
  bool hold() const { return cpu >= 0 && memory >= 0 && pods >= 0; }
};

// Returns the allocatable resources of a Node object, before any pod.
NodeResources nodeResourcesOf(const kube::Quantities& allocatable);

}  // namespace divvy::scheduler
