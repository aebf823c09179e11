// Counts how many more pods of a shape fit, a few nodes at a time. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "capacity/capacity_report.h"
#include "capacity/node_capacity.h"
#include "capacity/shape_history.h"
#include "engine/replicas.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// A count in progress.
struct CapacityCount {
  engine::ReplicaTerms terms;
  std::size_t steps = 0, most_steps = 0;
  std::optional<engine::ReplicaCount> found;  // of all nodes
};

class CapacityCounter {
 public:
  // Both outlive it.
  CapacityCounter(const SchedulerCache& cache, const RunningPods& running_pods)
      : cache_(cache), running_pods_(running_pods) {}

  // Begins a count. `after_eviction`: running pods of a lower priority than the shape's that may be
  // evicted count as gone.
  CapacityCount begin(const RecentShape& shape, bool after_eviction) const;
  // Counts on a few more nodes, which takes up to about a millisecond. Returns true at the end of
  // the count: `found` has the result, or nothing if the search does not end on some nodes.
  bool step(const RecentShape& shape, CapacityCount& count, NodeCapacity& nodes) const;

  NodeCapacity nodes() const { return {cache_, running_pods_}; }

 private:
  const SchedulerCache& cache_;
  const RunningPods& running_pods_;
};

// The counts of several shapes, one after the other. What runs on a node is as it was when the
// round first read it.
class CapacityRound {
 public:
  // `counter` outlives it.
  CapacityRound(const CapacityCounter& counter, const std::vector<const RecentShape*>& shapes);

  // Counts on. Returns true at the end of the round.
  bool step();
  const std::vector<ShapeCapacity>& shapes() const { return shapes_; }

 private:
  const CapacityCounter& counter_;
  NodeCapacity nodes_;
  std::vector<ShapeCapacity> shapes_;
  std::size_t at_ = 0;  // in `shapes_`
  bool after_eviction_ = false;
  std::optional<CapacityCount> count_;
};

}  // namespace divvy::scheduler
