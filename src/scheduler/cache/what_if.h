// What-if: which nodes would fit, as a caller describes them. Pure. Private.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// What the what-if takes from the cache.
struct WhatIfOptions {
  engine::Config config;
  std::vector<engine::Pool> pools;
  std::function<std::vector<engine::Allocation>(const engine::NodeName&)> heldOn;
};

// As SchedulerCache::simulateFit, without quotas.
Result<FilterResult> simulateFit(const WhatIfOptions& supposed, const kube::Pod& pod,
                                 std::span<const kube::Node> nodes,
                                 const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
