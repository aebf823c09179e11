// An instant, and the next deadline. A caller that asks whether an instant has come, and gets
// false, is called again at that instant. So no transition that waits for time is lost.
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
  // Earliest requested instant that has not come; kNever: none.
  Nanos next() const { return next_; }

 private:
  Nanos now_ = 0;
  Nanos next_ = kNever;
};

}  // namespace divvy::arbiter
