// Statistics of a tenant over the policies that it was in, and its rates over windows. Pure.
// Private.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/stats.h"

namespace divvy::arbiter {

// `policy`: the statistics of the tenant in its present policy. `places`: of its devices within the
// group.
class StatsWindow {
 public:
  explicit StatsWindow(std::size_t devices) { rates_.got_permille.assign(devices, -1); }

  // Ends the window and begins the next. `cpu`: processor time of our threads so far.
  void sample(const GroupStats& policy, const std::vector<unsigned>& places, Nanos cpu, Nanos now);
  // Rates of the last window, and the sums of throttled time and grants. The rest is not set.
  TenantStats stats(const GroupStats& policy) const;
  // Adds up the statistics of a policy that is about to be left.
  void carry(const GroupStats& policy, const std::vector<unsigned>& places);

 private:
  struct Window {
    Nanos at = 0;
    std::array<Nanos, kMaxGroupDevices> got{};
    Nanos throttled = 0;
    std::uint64_t grants = 0;
    Nanos cpu = 0;
  };

  GroupStats before_;  // sums of earlier policies
  Window window_;
  TenantStats rates_;
};

}  // namespace divvy::arbiter
