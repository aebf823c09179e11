// Token bucket: a rate limit with a burst. Pure. Private.
#pragma once

#include <algorithm>
#include <chrono>

namespace divvy::kube {

class TokenBucket {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // Both are above 0.
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), left_(burst) {}

  // Takes a token and returns how long to wait before it may be used. Instants never decrease.
  Duration take(Instant now) {
    if (last_ != Instant{}) {
      const double passed = std::chrono::duration<double>(now - last_).count();
      left_ = std::min(burst_, left_ + passed * per_second_);
    }
    last_ = now;
    left_ -= 1;
    if (left_ >= 0) return Duration{0};
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(-left_ / per_second_));
  }

 private:
  double per_second_;
  double burst_;
  double left_;
  Instant last_{};
};

}  // namespace divvy::kube
