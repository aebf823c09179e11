// How much of this process's work may be in flight, and how threads wait until it is less.
#pragma once

#include <atomic>
#include <cstdint>

#include "launch/active_grant.h"
#include "meter/usage_meter.h"

namespace divvy::interposer {

// The needs of one launch.
struct LaunchNeed {
  std::uint64_t estimate;  // of its duration, in ns
  unsigned device;         // of the ledger
};

// One per process, in static storage. Any thread. Instants are host nanoseconds.
class InflightLimit {
 public:
  constexpr explicit InflightLimit(const ActiveGrant& grant) : grant_(grant) {}

  // Returns the estimated end of the work in flight, which may be past; 0 if that work has ended.
  static std::uint64_t end();
  // Returns whether the launch may follow the work in flight although both exceed the bound: one
  // long kernel may follow another without a hole.
  bool fitsSoon(const LaunchNeed& need, std::uint64_t now) const;
  // Returns how long before the end of the work in flight the next launch may follow.
  std::uint64_t lead() const;

  // Surround the waits of a thread until less work is in flight. saturated() returns whether any
  // thread does, and settles meanwhile: then no idleness is to be seen before the work in flight
  // now has ended, and others have no use for it sooner.
  void beginWait() { waits_.fetch_add(1, std::memory_order_relaxed); }
  void endWait() { waits_.fetch_sub(1, std::memory_order_relaxed); }
  bool saturated() const;

  // Notes by how many ns a thread woke too late.
  void noteLate(std::uint64_t by);
  void noteProgress(const Settled& settled, std::uint64_t now) {
    if (settled.ended) progress_.store(now, std::memory_order_relaxed);
  }
  // See LaunchGate::stalled().
  bool stalled(std::uint64_t since, std::uint64_t now) const;

  void forgetAfterFork();

 private:
  const ActiveGrant& grant_;
  std::atomic<std::uint32_t> waits_{0};
  // How late this machine wakes a thread that sleeps until an instant, in ns: the ninth decile.
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> progress_{0};  // when in-flight work was last seen to shrink
};

}  // namespace divvy::interposer
