// Token bucket: a rate limit with a burst. Pure: the clock is an argument.
#pragma once

#include <algorithm>
#include <chrono>

namespace divvy {

// Tokens a second, and the largest number of tokens at once. Both are above 0.
struct Rate {
  double a_second = 1;
  double burst = 1;
};

// A token bucket that starts full. The instants of successive calls must not decrease. Not
// thread-safe.
class TokenBucket {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  explicit TokenBucket(Rate rate) : rate_(rate), left_(rate.burst) {}

  // Takes a token. Returns false if there is none now.
  bool take(Instant now) {
    fill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // Takes a token, in advance if there is none now. Returns the time until it may be used.
  Duration reserve(Instant now) {
    fill(now);
    left_ -= 1;
    if (left_ >= 0) return Duration{0};
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(-left_ / rate_.a_second));
  }

 private:
  void fill(Instant now) {
    const std::chrono::duration<double> passed = now - last_;
    left_ = std::min(rate_.burst, left_ + passed.count() * rate_.a_second);
    last_ = now;
  }

  Rate rate_;
  double left_;
  Instant last_{};
};

}  // namespace divvy
