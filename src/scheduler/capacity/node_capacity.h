// How many more pods a node takes by CPU, memory and number of pods, as kube-scheduler counts them.
// Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "preemption/node_resources.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Reads a node when it is first asked for, and keeps what it has read: later changes of the cluster
// do not count. Not thread-safe.
class NodeCapacity {
 public:
  // `cache` and `running_pods` outlive it.
  NodeCapacity(const SchedulerCache& cache, const RunningPods& running_pods)
      : cache_(cache), running_pods_(running_pods) {}

  // Returns how many pods with these resources fit beside the running ones. Running pods of a lower
  // priority than `above` that may be evicted count as gone. A node has enough of a resource that
  // it does not state.
  std::uint32_t most(const std::string& node, const PodResources& resources, std::int64_t above);

 private:
  NodeResources leftOn(const std::string& node, std::int64_t above) const;

  const SchedulerCache& cache_;
  const RunningPods& running_pods_;
  std::map<std::int64_t, std::unordered_map<std::string, NodeResources>> left_;  // by `above`
};

}  // namespace divvy::scheduler
