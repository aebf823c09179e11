#include "policy/idle_gap.h"

#include <algorithm>
#include <cmath>

namespace divvy::arbiter {

// Weight of the past with each new gap: about the last 64 gaps decide.
constexpr double kMemory = 63.0 / 64.0;
// A threshold is worth its cost if it gains this many times as much.
constexpr double kWorth = 5;
// Average delay by a lower class, as a part of the work between two gaps.
constexpr double kDelay = 1.0 / 20;
// The largest part of the gaps that is given up for that.
constexpr double kMaxSpared = 0.24;

IdleGap::IdleGap(Nanos shortest, Nanos longest, Nanos delay, Nanos reload)
    : entry_cost_(kWorth * static_cast<double>(delay + reload)),
      delay_(static_cast<double>(delay)),
      longest_counted_(10 * longest),
      threshold_(shortest) {
  const double ratio =
      static_cast<double>(longest) / static_cast<double>(std::max(shortest, Nanos{1}));
  for (unsigned i = 0; i < kSteps; ++i) {
    const double step = static_cast<double>(i) / (kSteps - 1);
    edges_[i] = std::llround(static_cast<double>(shortest) * std::pow(ratio, step));
  }
}

void IdleGap::ended(Nanos from, Nanos to) {
  Nanos length = to - from;
  if (length > threshold()) {
    const auto work = static_cast<double>(std::min(from - work_began_, longest_counted_));
    if (work > 0 && work_began_ > 0) work_ += (work - work_) * (work_ > 0 ? 1 - kMemory : 1);
    work_began_ = to;
  }
  // No threshold would have entered this gap.
  if (length < edges_[0]) return;
  length = std::min(length, longest_counted_);
  for (unsigned i = 0; i < kSteps; ++i) {
    count_[i] *= kMemory;
    length_[i] *= kMemory;
  }
  const auto above = std::upper_bound(edges_.begin(), edges_.end(), length);
  const auto bin = static_cast<unsigned>(above - edges_.begin()) - 1;
  count_[bin] += 1;
  length_[bin] += static_cast<double>(length);
  choose();
}

void IdleGap::delayed(Nanos by) {
  delay_ += (static_cast<double>(by) - delay_) * (1 - kMemory);
}

double IdleGap::spared() const {
  if (work_ <= 0 || delay_ <= 0) return 0;
  // The part of arrivals that may find a lower class in the gap. If that part is very small,
  // because the lower class leaves late, sparing some arrivals gains little.
  const double hindered = kDelay * work_ / delay_;
  return std::clamp(1 - hindered, 0.0, std::min(kMaxSpared, hindered / 2));
}

void IdleGap::choose() {
  std::array<double, kSteps> gained{};
  double entries = 0;
  double length = 0;
  double best = 0;
  unsigned at = kSteps - 1;
  for (unsigned i = kSteps; i-- > 0;) {
    entries += count_[i];
    length += length_[i];
    gained[i] = length - entries * static_cast<double>(edges_[i]);
    const double worth = gained[i] - entries * entry_cost_;
    // Downwards, so that among equals the earliest entry wins.
    if (i == kSteps - 1 || worth >= best) {
      best = worth;
      at = i;
    }
  }
  // Then upwards, as long as enough is gained.
  const double enough = (1 - spared()) * length;
  while (at + 1 < kSteps && gained[at + 1] >= enough) ++at;
  threshold_ = edges_[at];
  if (at + 1 < kSteps && gained[at] > enough) {
    const double part = (gained[at] - enough) / (gained[at] - gained[at + 1]);
    threshold_ += std::llround(part * static_cast<double>(edges_[at + 1] - edges_[at]));
  }
}

}  // namespace divvy::arbiter
