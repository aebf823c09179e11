#include "stats_window.h"

#include <algorithm>

namespace divvy::arbiter {
namespace {

unsigned permille(Nanos part, Nanos whole) {
  if (whole <= 0 || part <= 0) return 0;
  return static_cast<unsigned>(std::min<Nanos>(part * 1000 / whole, 16'000));
}

}  // namespace

void StatsWindow::sample(const GroupStats& policy, const std::vector<unsigned>& places, Nanos cpu,
                         Nanos now) {
  Window next;
  next.at = now;
  for (std::size_t device = 0; device < places.size(); ++device)
    next.got[device] = before_.got[device] + policy.got[places[device]];
  next.throttled = before_.throttled + policy.throttled;
  next.grants = before_.grants + policy.grants;
  next.cpu = cpu;
  const Nanos passed = window_.at == 0 ? 0 : now - window_.at;
  // Use behind an open gate is not counted.
  const bool counted = passed > 0 && policy.gate != Gate::kOpen;
  for (std::size_t device = 0; device < places.size(); ++device) {
    rates_.got_permille[device] =
        counted ? static_cast<int>(permille(next.got[device] - window_.got[device], passed)) : -1;
  }
  rates_.throttled_permille = std::min(1000u, permille(next.throttled - window_.throttled, passed));
  rates_.cpu_permille = permille(next.cpu - window_.cpu, passed);
  const std::uint64_t grants = next.grants > window_.grants ? next.grants - window_.grants : 0;
  rates_.grants_per_s =
      passed == 0 ? 0
                  : static_cast<unsigned>(grants * kSecond / static_cast<std::uint64_t>(passed));
  window_ = next;
}

TenantStats StatsWindow::stats(const GroupStats& policy) const {
  TenantStats stats = rates_;
  stats.throttled = before_.throttled + policy.throttled;
  stats.grants = before_.grants + policy.grants;
  return stats;
}

void StatsWindow::carry(const GroupStats& policy, const std::vector<unsigned>& places) {
  for (std::size_t device = 0; device < places.size(); ++device)
    before_.got[device] += policy.got[places[device]];
  before_.throttled += policy.throttled;
  before_.grants += policy.grants;
  before_.undrained += policy.undrained;
}

}  // namespace divvy::arbiter
