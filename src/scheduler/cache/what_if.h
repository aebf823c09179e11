// What-if: evaluations that change nothing. Private.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/cache_state.h"
#include "engine/gang.h"
#include "engine/preemption.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Functions with names of SchedulerCache or PodQueries keep their contracts.
class WhatIf {
 public:
  // `state` outlives it.
  explicit WhatIf(CacheState& state) : state_(state) {}

  // On an engine of its own.
  Result<FilterResult> simulateFit(const kube::Pod& pod, std::span<const kube::Node> nodes) const;
  // On the engine of the cache: tried for real, and taken back at once.
  Result<std::optional<EvictionPlan>> planEvictions(std::span<const kube::Pod> pods,
                                                    const std::vector<std::string>& gone,
                                                    const engine::EvictionCosts& costs);

 private:
  bool beyondQuota(const engine::Gang& gang, const std::vector<engine::Allocation>& given,
                   const std::vector<std::string>& ending) const;

  CacheState& state_;
};

}  // namespace divvy::scheduler
