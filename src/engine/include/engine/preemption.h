// Who has to end so that a request of higher priority fits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

// What ends with a request. Who is not in the map never has to.
struct EvictionCost {
  std::int64_t priority = 0;   // more is higher; only lower ones end
  std::int64_t work_lost = 0;  // in the caller's unit; at least 0
  std::string group;           // all of a group end, or none; empty: on its own
  std::string budget;          // of disruptions; empty: none
};

struct EvictionCosts {
  std::map<RequestId, EvictionCost> of;
  std::map<std::string, std::int64_t> budgets;  // ends that each still allows; absent: 0
};

// Less is better, the first difference decides.
struct PreemptionCost {
  std::int64_t violations = 0;  // ends beyond their budgets
  std::int64_t highest = 0;     // priority of who ends
  std::int64_t work_lost = 0;
  std::int64_t ends = 0;
  friend auto operator<=>(const PreemptionCost&, const PreemptionCost&) = default;
};

struct Preemption {
  NodeName node;
  std::vector<RequestId> victims;  // ascending, whole groups, on other nodes too; all are needed
  PreemptionCost cost;
};

struct GangPreemption {
  std::vector<RequestId> victims;  // ascending, whole groups; all are needed
  PreemptionCost cost;
};

}  // namespace divvy::engine
