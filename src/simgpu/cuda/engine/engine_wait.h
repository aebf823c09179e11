// Sleeping until a time or until something happened, whichever is first.
#pragma once

#include <atomic>
#include <cstdint>

#include "timeline/timeline_state.h"

namespace divvy::simgpu {

// An event count: read `seen`, check the condition, then wait. Any number of threads of one
// process. Waiters need no lock, and wakers cost nothing without waiters.
class WaitWord {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }
  // Returns when bump() was called since `seen` was read, at `until` (the card's clock), or
  // spuriously.
  void wait(std::uint32_t seen, Nanos until);
  void bump();

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

// Returns when the card's clock shows `until`, or later.
void waitUntil(Nanos until);

}  // namespace divvy::simgpu
