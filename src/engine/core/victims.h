// Candidates for eviction, in units that are evicted together, and their cost.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/preemption.h"

namespace divvy::engine {

// Requests that are evicted together: one request, or a group.
struct EvictionUnit {
  std::vector<RequestId> all;                // ascending
  std::vector<const EvictionCost*> of_each;  // as `all`
  std::int64_t highest = 0;                  // highest priority of a member
  std::int64_t work = 0;
};
using EvictionUnits = std::vector<const EvictionUnit*>;

// kUsage: negative `work_lost`.
Result<void> checkEvictionCosts(const EvictionCosts& costs);

class Victims {
 public:
  // `there`: requests with an allocation, ascending. Requests without an entry in `costs` are
  // never evicted, nor are units with a member of `priority` or higher. Keeps a reference to
  // `costs`, which must outlive it.
  Victims(const EvictionCosts& costs, std::int64_t priority, const std::vector<RequestId>& there);

  // Returns null if the request must not be evicted.
  const EvictionUnit* of(const RequestId& id) const;
  PreemptionCost costOf(const EvictionUnits& units) const;
  void dearestFirst(EvictionUnits* units) const;
  std::vector<RequestId> idsOf(const EvictionUnits& units) const;  // ascending

 private:
  const EvictionCosts& costs_;
  std::vector<EvictionUnit> units_;
  std::unordered_map<std::string_view, std::size_t> of_;  // place in `units_`
};

}  // namespace divvy::engine
