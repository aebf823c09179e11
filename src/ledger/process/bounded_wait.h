// A bounded wait for threads that are on a processor now or soon.
#pragma once

#include <cstdint>

namespace divvy::ledger {

// Spins, then yields, and sleeps shortly at intervals, until its time is over. It counts
// approximately the waiter's running time: a round counts at most a millisecond. If load or a CPU
// quota stops the waiter for longer, it stops the awaited thread as well.
class BoundedWait {
 public:
  explicit BoundedWait(std::int64_t limit_ns) : left_ns_(limit_ns) {}
  // Returns false when the time has run out. Changes errno.
  bool wait();

  // Only counts: a round begins at `now_ns`, on CLOCK_MONOTONIC. Returns false when the time has
  // run out.
  bool lasts(std::int64_t now_ns);

 private:
  static constexpr std::int64_t kNever = -1;

  std::int64_t left_ns_;
  std::int64_t last_ns_ = kNever;
  unsigned rounds_ = 0;
};

// S1: no wait is longer, in time as BoundedWait counts it.
inline constexpr std::int64_t kLongestWaitNs = 100'000'000;

}  // namespace divvy::ledger
