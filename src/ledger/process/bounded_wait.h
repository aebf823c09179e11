// A bounded wait for threads that are on a processor now or soon.
#pragma once

#include <cstdint>

namespace divvy::ledger {

// Spins, then yields, now and then sleeps a little, until its time is over. That is the time in
// which the waiter was running, about: a round counts a millisecond at most. Where a crowd or a CPU
// quota stops the waiter for longer, it stops the one that is waited for as well.
class BoundedWait {
 public:
  explicit BoundedWait(std::int64_t limit_ns) : left_ns_(limit_ns) {}
  // False when the time has run out. Changes errno.
  bool wait();

  // The count alone: a round begins now, on CLOCK_MONOTONIC. False when the time has run out.
  bool lasts(std::int64_t now_ns);

 private:
  static constexpr std::int64_t kNever = -1;

  std::int64_t left_ns_;
  std::int64_t last_ns_ = kNever;
  unsigned rounds_ = 0;
};

// S1: no wait is longer, in the time that Patience counts.
inline constexpr std::int64_t kLongestWaitNs = 100'000'000;

}  // namespace divvy::ledger
