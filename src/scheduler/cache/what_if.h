// Which nodes would do, were they as somebody describes them. Pure. Private.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// What holds there as here.
struct WhatIfOptions {
  engine::Config config;
  std::vector<engine::Pool> pools;
  std::function<std::vector<engine::Allocation>(const engine::NodeName&)> heldOn;
};

// As SchedulerCache says.
Result<FilterResult> simulateFit(const WhatIfOptions& supposed, const kube::Pod& pod,
                                 std::span<const kube::Node> nodes,
                                 const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
