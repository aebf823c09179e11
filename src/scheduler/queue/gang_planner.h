// Reserves devices for pods that start together, on nodes that have CPU, memory and room for them.
// Pure. Private.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "preemption/node_resources_fit.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Not thread-safe.
class GangPlanner {
 public:
  // Both outlive it. `node_resources` null: CPU, memory and pod count are not checked.
  GangPlanner(SchedulerCache& cache, const NodeResourcesFit* node_resources)
      : cache_(cache), node_resources_(node_resources) {}

  // Reserves devices for all of `pods` or for none, as SchedulerCache::plan(). Pods without CPU or
  // memory on their node are tried on other nodes. `others`: pods that are not bound yet and take
  // CPU and memory too, where they have a reservation. Returns the reservations in the order of
  // `pods`. kNoRoom: they do not fit now.
  Result<std::vector<Reservation>> reserve(const std::vector<kube::Pod>& pods,
                                           const std::vector<const kube::Pod*>& others,
                                           const std::vector<std::string>& without_models,
                                           engine::Instant expires);

 private:
  std::vector<std::size_t> exceeding(const std::vector<kube::Pod>& pods,
                                     const std::vector<const kube::Pod*>& others,
                                     const std::vector<Reservation>& places) const;

  SchedulerCache& cache_;
  const NodeResourcesFit* node_resources_;
};

}  // namespace divvy::scheduler
