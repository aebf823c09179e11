// How much device time a tenant can have used while it was on the devices, and how much of that it
// has likely used but not accounted yet.
#pragma once

#include <algorithm>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class Meter {
 public:
  // It was on the devices for so long; of several at once each counts its part.
  void pass(double time) { present_ += time; }
  // It may have used that much more than it was seen to be present.
  void grant(double time) { slack_ += time; }

  // `shown` has been accounted. Returns what is believed of it: where contexts interleave, timing
  // events show more than was executed.
  double settle(double shown) {
    const double believed = std::min(shown, std::max(present_ + slack_ - settled_, 0.0));
    settled_ += shown;
    // Events of several processes overlap: what is more than the time there was, is forgotten.
    settled_ = std::min(settled_, present_ + slack_);
    if (present_ > kLong) {
      learn();
      present_ /= 2;
      settled_ /= 2;
      slack_ = 0;
    }
    return believed;
  }

  // The first launch after having been idle: what passed before was only the way to it.
  void begin() {
    slack_ += present_;
    present_ = 0;
  }
  // Nothing is in flight, everything is accounted.
  void idle() {
    if (present_ > 0) learn();
    present_ = settled_ = slack_ = 0;
  }

  // Used and not accounted, as far as can be told.
  double unsettled() const { return std::max(intensity_ * present_ - settled_, 0.0); }
  // Time present until that much more will be unsettled. What was settled beyond what it usually
  // uses is used up first.
  double timeToUse(double used) const {
    return (used + std::max(settled_ - intensity_ * present_, 0.0)) / intensity_;
  }

 private:
  static constexpr double kLong = 2e9;

  void learn() {
    const double seen = std::clamp(settled_ / present_, 0.02, 1.0);
    intensity_ += (seen - intensity_) / 4;
  }

  double present_ = 0;
  double settled_ = 0;
  double slack_ = 0;
  double intensity_ = 1;  // device time per time present: less where there are gaps between kernels
};

}  // namespace divvy::arbiter
