// A bucket of device time. It fills at a rate, up to a depth; taking may leave it in debt.
#pragma once

#include <algorithm>
#include <cmath>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class TokenBucket {
 public:
  TokenBucket() = default;
  // `rate`: part of wall time. The bucket starts empty. `debt`: limit on the debt; 0: none.
  TokenBucket(double rate, Nanos depth, Nanos debt = 0)
      : rate_(rate), depth_(static_cast<double>(depth)), debt_(static_cast<double>(debt)) {}

  // Changes the rate. The level stays, up to the new depth.
  void change(double rate, Nanos depth) {
    rate_ = rate;
    depth_ = static_cast<double>(depth);
    level_ = std::min(level_, depth_);
  }
  // `pending`: device time that is used but not taken yet; the bucket may fill that much higher.
  void fill(Nanos elapsed, double pending = 0) {
    const double full = std::max(depth_ + pending, level_);
    level_ = std::min(level_ + rate_ * static_cast<double>(elapsed), full);
  }
  void spend(double used) {
    level_ -= used;
    if (debt_ > 0) level_ = std::max(level_, -debt_);
  }
  double level() const { return level_; }
  double depth() const { return depth_; }
  // Time until it holds `level`, if nothing is taken meanwhile.
  Nanos timeTo(double level) const {
    if (level <= level_) return 0;
    constexpr double kForEver = 1e18;
    return static_cast<Nanos>(std::ceil(std::min((level - level_) / rate_, kForEver)));
  }

 private:
  double rate_ = 1;
  double depth_ = 0;
  double debt_ = 0;
  double level_ = 0;
};

}  // namespace divvy::arbiter
