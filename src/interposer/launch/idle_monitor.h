// Observes when this process launches and when its work ends, and publishes that.
#pragma once

#include <atomic>
#include <cstdint>

#include "launch/active_grant.h"
#include "launch/work_report.h"

namespace divvy::interposer {

// One per process, in static storage. Instants are host nanoseconds. Any thread may call
// noteActivation(); the others are for the one thread that holds the drain monitor's tick.
class IdleMonitor {
 public:
  constexpr IdleMonitor(const ActiveGrant& grant, WorkReport& report)
      : grant_(grant), report_(report) {}

  // Notes that a launch was admitted after a pause. To be called before the launch makes
  // kWorkInFlight visible.
  void noteActivation(std::uint64_t now) { activated_.store(now, std::memory_order_relaxed); }

  // Observes the meter and the thread lines, and publishes their counts.
  void publish(std::uint64_t now);
  // Returns whether no launch was counted or admitted after a pause since publish().
  bool unchanged() const;
  // Returns the instant since which no work was in flight, as publish() found it.
  std::uint64_t quietSince() const { return quiet_since_; }

  void forgetAfterFork();

 private:
  const ActiveGrant& grant_;
  WorkReport& report_;
  std::atomic<std::uint64_t> activated_{0};  // latest launch that was admitted after a pause
  std::uint64_t activated_seen_ = 0;
  std::uint64_t launches_seen_ = 0;
  std::uint64_t quiet_since_ = 0;
  std::uint64_t busy_until_ = 0;  // at the latest publish(); 0: nothing was in flight
};

}  // namespace divvy::interposer
