// A bounded wait for threads that are on a processor now or soon.
#pragma once

#include <cstdint>

namespace divvy::ledger {

// Spins, then yields, now and then sleeps a little, until its time is over.
class Patience {
 public:
  explicit Patience(std::int64_t limit_ns) : limit_ns_(limit_ns) {}
  // False when the time has run out. Changes errno.
  bool wait();

 private:
  std::int64_t limit_ns_;
  std::int64_t deadline_ = 0;
  unsigned rounds_ = 0;
};

// S1: no wait is longer.
inline constexpr std::int64_t kLongestWaitNs = 100'000'000;

}  // namespace divvy::ledger
