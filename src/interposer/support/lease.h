// Whether the agent still supports its grant.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/layout.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread. Uses this process's own CLOCK_MONOTONIC.
class Lease {
 public:
  // Reads the grant's beat. Returns false if the beat has not changed for the length of a lease,
  // counted from this process's first call that saw it.
  bool alive(const ledger::Grant& grant, std::uint64_t now);

  // Returns whether the agent has changed the beat or the grant since alive() last observed them.
  bool moved(const ledger::Grant& grant) const {
    return stamp(grant) != seen_.load(std::memory_order_relaxed);
  }

  void forgetAfterFork() { since_.store(0, std::memory_order_relaxed); }

 private:
  // Grows with each beat and each grant.
  static std::uint64_t stamp(const ledger::Grant& grant);

  std::atomic<std::uint64_t> seen_{0};
  std::atomic<std::uint64_t> since_{0};  // when seen_ was first observed; 0: never
};

}  // namespace divvy::interposer
