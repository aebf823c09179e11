// Limits how often one tenant's doorbell is answered. The tenant's own program rings it, and each
// answer costs the arbiter a wake-up. A tenant that rings more often is polled at intervals.
#pragma once

#include <algorithm>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class WakeupLimiter {
 public:
  // Number of rings in a row that are answered at once.
  static constexpr int kBurst = 64;

  // After a burst, one ring in `interval` is answered.
  explicit WakeupLimiter(Nanos interval) : interval_(interval) {}

  bool listens(Nanos now) const { return now >= deafUntil(); }
  Nanos deafUntil() const { return spent_until_ - (kBurst - 1) * interval_; }
  // Records that a ring was answered.
  void answered(Nanos now) { spent_until_ = std::max(spent_until_, now) + interval_; }
  // Records that the tenant was given an order that other tenants wait for: its next ring is
  // answered at once.
  void asked(Nanos now) { spent_until_ = std::min(spent_until_, now + (kBurst - 1) * interval_); }

 private:
  Nanos interval_;
  Nanos spent_until_ = 0;  // when the full burst is available again
};

}  // namespace divvy::arbiter
