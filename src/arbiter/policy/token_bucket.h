// A bucket of device time: filled at a rate, up to a depth; what is taken may leave it in debt.
#pragma once

#include <algorithm>
#include <cmath>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class TokenBucket {
 public:
  TokenBucket() = default;
  // `rate`: of wall time. It starts empty. `debt`: more is forgiven; 0: none is.
  TokenBucket(double rate, Nanos depth, Nanos debt = 0)
      : rate_(rate), depth_(static_cast<double>(depth)), debt_(static_cast<double>(debt)) {}

  // Another rate; what is in it stays, as far as it fits.
  void change(double rate, Nanos depth) {
    rate_ = rate;
    depth_ = static_cast<double>(depth);
    level_ = std::min(level_, depth_);
  }
  // `pending`: device time used that is not taken yet; what is filled meanwhile is not lost.
  void fill(Nanos elapsed, double pending = 0) {
    const double full = std::max(depth_ + pending, level_);
    level_ = std::min(level_ + rate_ * static_cast<double>(elapsed), full);
  }
  void take(double used) {
    level_ -= used;
    if (debt_ > 0) level_ = std::max(level_, -debt_);
  }
  double level() const { return level_; }
  double depth() const { return depth_; }
  // How long until it holds `level`, if nothing is taken meanwhile.
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
