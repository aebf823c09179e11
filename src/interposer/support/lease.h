// Whether the agent still stands behind its grant.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/layout.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread. Judged on this process' own CLOCK_MONOTONIC.
class Lease {
 public:
  // Looks at the grant's beat. False: it has stood still for as long as a lease lasts, of which
  // this process saw the beginning or an earlier look.
  bool alive(const ledger::Grant& grant, std::uint64_t now);

  // True if the agent has shown itself since alive() was last true.
  bool moved(const ledger::Grant& grant) const {
    return stamp(grant) != seen_.load(std::memory_order_relaxed);
  }

  void forgetAfterFork() { since_.store(0, std::memory_order_relaxed); }

 private:
  // Grows with each beat and each grant.
  static std::uint64_t stamp(const ledger::Grant& grant);

  std::atomic<std::uint64_t> seen_{0};
  std::atomic<std::uint64_t> since_{0};  // when seen_ was seen first; 0: never looked
};

}  // namespace divvy::interposer
