// An instant, and when to look again: whoever asks whether an instant has come, and is told no, has
// thereby asked to be woken then. No transition that waits for time can be forgotten.
#pragma once

#include <algorithm>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class DeadlineSet {
 public:
  void begin(Nanos now) {
    now_ = now;
    next_ = kNever;
  }
  Nanos now() const { return now_; }
  bool reached(Nanos at) {
    if (at <= now_) return true;
    next_ = std::min(next_, at);
    return false;
  }
  // Earliest instant asked for that has not come.
  Nanos next() const { return next_; }

 private:
  Nanos now_ = 0;
  Nanos next_ = kNever;
};

}  // namespace divvy::arbiter
