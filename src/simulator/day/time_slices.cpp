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
std::size_t fitting(const std::vector<Claim*>& group, Bytes memory) {
  std::vector<Bytes> sizes;
  for (const Claim* claim : group) sizes.push_back(claim->memory);
  std::sort(sizes.begin(), sizes.end());
  std::size_t count = 0;
  for (Bytes sum; count < sizes.size(); ++count) {
    sum = sum + sizes[count];
    if (sum > memory) break;
  }
  return count;
}

// Who wants less than the fair part leaves the rest to the others.
double fill(const std::vector<Claim*>& group, double left) {
  std::vector<Claim*> open;
  for (Claim* claim : group) {
    claim->rate = 0;
    if (claim->want * claim->there > kNothing) open.push_back(claim);
  }
  while (!open.empty() && left > kNothing) {
    double weights = 0;
    for (const Claim* claim : open) weights += claim->weight;
    const double before = left;
    std::vector<Claim*> still;
    for (Claim* claim : open) {
      const double wanted = claim->want * claim->there;
      if (wanted * weights <= before * claim->weight) {
        claim->rate = wanted;
        left -= wanted;
      } else {
        still.push_back(claim);
      }
    }
    if (still.size() == open.size()) {
      for (Claim* claim : open) claim->rate = left * claim->weight / weights;
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

void share(std::span<Claim> claims, Bytes memory) {
  double left = claims.size() > 1 ? 1 - kShared : 1;
  for (const Urgency urgency : {Urgency::kHigh, Urgency::kNormal, Urgency::kLow}) {
    std::vector<Claim*> group;
    Bytes need;
    for (Claim& claim : claims) {
      if (claim.urgency != urgency) continue;
      group.push_back(&claim);
      need = need + claim.memory;
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
    for (Claim* claim : group) claim->there = there;
    memory = memory - need;
    left = fill(group, left);
  }
}

}  // namespace divvy::simulator
