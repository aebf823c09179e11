// Victims that must be evicted so that a request of higher priority fits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

// The cost of evicting a request. A request that is missing in the map is never evicted.
struct EvictionCost {
  std::int64_t priority = 0;   // higher is more important; only lower ones are evicted
  std::int64_t work_lost = 0;  // in the caller's unit; at least 0
  std::string group;           // requests of a group are evicted all or none; empty: no group
  std::string budget;          // of disruptions; empty: none
};

struct EvictionCosts {
  std::map<RequestId, EvictionCost> of;
  std::map<std::string, std::int64_t> budgets;  // evictions left of each budget; missing: 0
};

// Less is better; the first difference decides.
struct PreemptionCost {
  std::int64_t violations = 0;  // evictions beyond their budgets
  std::int64_t highest = 0;     // highest priority of a victim
  std::int64_t work_lost = 0;
  std::int64_t ends = 0;
  friend auto operator<=>(const PreemptionCost&, const PreemptionCost&) = default;
};

struct Preemption {
  NodeName node;
  std::vector<RequestId> victims;  // ascending; whole groups, also on other nodes; all are needed
  PreemptionCost cost;
};

struct GangPreemption {
  std::vector<RequestId> victims;  // ascending, whole groups; all are needed
  PreemptionCost cost;
};

}  // namespace divvy::engine
