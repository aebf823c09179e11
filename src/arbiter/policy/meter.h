// Meters how much device time a tenant can have used while it was present on the devices. Estimates
// how much of that is used but not settled yet.
#pragma once

#include <algorithm>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class Meter {
 public:
  // Adds time of presence. If several tenants are present at once, each gets its part of the time.
  void pass(double time) { present_ += time; }
  // Adds device time that may have been used beyond the observed presence.
  void grant(double time) { slack_ += time; }

  // `shown` was settled. Returns the accepted part of it: where contexts interleave, timing events
  // show more time than was executed.
  double accept(double shown) {
    const double believed = std::min(shown, std::max(present_ + slack_ - settled_, 0.0));
    settled_ += shown;
    // Events of several processes overlap: settled time beyond the time that there was is dropped.
    settled_ = std::min(settled_, present_ + slack_);
    if (present_ > kLong) {
      learn();
      present_ /= 2;
      settled_ /= 2;
      slack_ = 0;
    }
    return believed;
  }

  // The first launch after idleness. Presence before it was only the delay until the launch, so it
  // counts as slack.
  void begin() {
    slack_ += present_;
    present_ = 0;
  }
  // Nothing is in flight, and everything is settled.
  void idle() {
    if (present_ > 0) learn();
    present_ = settled_ = slack_ = 0;
  }

  // Estimated device time that is used but not settled.
  double unsettled() const { return std::max(intensity_ * present_ - settled_, 0.0); }
  // Time of presence until `used` more will be unsettled. Time settled beyond the usual use is
  // consumed first.
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
  double intensity_ = 1;  // device time per time of presence: below 1 with gaps between kernels
};

}  // namespace divvy::arbiter
