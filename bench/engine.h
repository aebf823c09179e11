// How fast the placement engine decides, and how that grows with the cluster.
#pragma once

#include <functional>
#include <string>

#include "report.h"

namespace divvy::bench {

struct EnginePlan {
  unsigned decisions = 200'000;  // measured, per size of the cluster
  unsigned rebuilt = 50'000;     // allocations
  // Of the compute is given: where real clusters are, and choosing is hard.
  double full = 0.9;
};

Report measureEngine(const EnginePlan& plan, const std::function<void(const std::string&)>& say);

}  // namespace divvy::bench
