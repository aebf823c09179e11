// How often one tenant's bell is answered: what rings it is the tenant's own program, and every
// answer costs the arbiter a wake-up. A tenant that rings more often is looked at now and then.
#pragma once

#include <algorithm>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class WakeupLimiter {
 public:
  // How many rings in a row are answered at once.
  static constexpr int kBurst = 64;

  // After those, one in `interval`.
  explicit WakeupLimiter(Nanos interval) : interval_(interval) {}

  bool listens(Nanos now) const { return now >= deafUntil(); }
  Nanos deafUntil() const { return spent_until_ - (kBurst - 1) * interval_; }
  // A ring was answered.
  void answered(Nanos now) { spent_until_ = std::max(spent_until_, now) + interval_; }
  // It was told something that others wait for an answer to: that is heard at once.
  void asked(Nanos now) { spent_until_ = std::min(spent_until_, now + (kBurst - 1) * interval_); }

 private:
  Nanos interval_;
  Nanos spent_until_ = 0;  // when all that was answered has been earned again
};

}  // namespace divvy::arbiter
