// Who may end for somebody, in units that end together, and what that costs.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/preemption.h"

namespace divvy::engine {

// Those that end together.
struct Unit {
  std::vector<RequestId> all;                // ascending
  std::vector<const EvictionCost*> of_each;  // as `all`
  std::int64_t highest = 0;                  // priority of one of them
  std::int64_t work = 0;
};
using Units = std::vector<const Unit*>;

// kUsage: work that is less than none.
Result<void> checkStakes(const EvictionCosts& stakes);

class Victims {
 public:
  // `there`: requests that hold devices, ascending; those without a stake do not end. `stakes`
  // outlives it.
  Victims(const EvictionCosts& stakes, std::int64_t priority, const std::vector<RequestId>& there);

  // Null: it may not end.
  const Unit* of(const RequestId& id) const;
  PreemptionCost costOf(const Units& units) const;
  void dearestFirst(Units* units) const;
  std::vector<RequestId> idsOf(const Units& units) const;  // ascending

 private:
  const EvictionCosts& stakes_;
  std::vector<Unit> units_;
  std::unordered_map<std::string_view, std::size_t> of_;  // place in `units_`
};

}  // namespace divvy::engine
