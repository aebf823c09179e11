#include "day/time_slices.h"

#include <algorithm>
#include <vector>

namespace divvy::simulator {
namespace {

// Two jobs against one after the other, at 1.0, 1.3 and 2.0 times the memory.
constexpr double kShared = 0.012, kAt13 = 0.034, kAt20 = 0.081;
constexpr double kMaxLoss = 0.5;
constexpr double kShortestTurn = 2, kLongestTurn = 60;
constexpr double kNothing = 1e-12;

// How many of them fit at once, the smallest first.
std::size_t fitting(const std::vector<TenantDemand*>& group, Bytes memory) {
  std::vector<Bytes> sizes;
  for (const TenantDemand* demand : group) sizes.push_back(demand->memory);
  std::sort(sizes.begin(), sizes.end());
  std::size_t count = 0;
  for (Bytes sum; count < sizes.size(); ++count) {
    sum = sum + sizes[count];
    if (sum > memory) break;
  }
  return count;
}

// Who wants less than the fair part leaves the rest to the others.
double fill(const std::vector<TenantDemand*>& group, double left) {
  std::vector<TenantDemand*> open;
  for (TenantDemand* demand : group) {
    demand->rate = 0;
    if (demand->want * demand->there > kNothing) open.push_back(demand);
  }
  while (!open.empty() && left > kNothing) {
    double weights = 0;
    for (const TenantDemand* demand : open) weights += demand->weight;
    const double before = left;
    std::vector<TenantDemand*> still;
    for (TenantDemand* demand : open) {
      const double wanted = demand->want * demand->there;
      if (wanted * weights <= before * demand->weight) {
        demand->rate = wanted;
        left -= wanted;
      } else {
        still.push_back(demand);
      }
    }
    if (still.size() == open.size()) {
      for (TenantDemand* demand : open) demand->rate = left * demand->weight / weights;
      return 0;
    }
    open = std::move(still);
  }
  return std::max(left, 0.0);
}

}  // namespace

double lossOfTurns(double ratio) {
  if (ratio <= 1) return kShared;
  const double loss = ratio <= 1.3 ? kShared + (ratio - 1) / 0.3 * (kAt13 - kShared)
                                   : kAt13 + (ratio - 1.3) / 0.7 * (kAt20 - kAt13);
  return std::min(loss, kMaxLoss);
}

double turnSeconds(double swap_s, double ratio) {
  return std::clamp(swap_s * (1 / lossOfTurns(ratio) - 1), kShortestTurn, kLongestTurn);
}

void share(std::span<TenantDemand> demands, Bytes memory) {
  double left = demands.size() > 1 ? 1 - kShared : 1;
  for (const Urgency urgency : {Urgency::kHigh, Urgency::kNormal, Urgency::kLow}) {
    std::vector<TenantDemand*> group;
    Bytes need;
    for (TenantDemand& demand : demands) {
      if (demand.urgency != urgency) continue;
      group.push_back(&demand);
      need = need + demand.memory;
    }
    if (group.empty()) continue;
    double there = 1;
    if (need > memory) {
      const double ratio =
          memory.count == 0 ? 4
                            : static_cast<double>(need.count) / static_cast<double>(memory.count);
      there = static_cast<double>(fitting(group, memory)) / static_cast<double>(group.size()) *
              (1 - lossOfTurns(ratio));
    }
    for (TenantDemand* demand : group) demand->there = there;
    memory = memory - need;
    left = fill(group, left);
  }
}

}  // namespace divvy::simulator
