// The background thread's work for the launch gate, off the launch path.
#pragma once

#include <atomic>
#include <cstdint>

#include "launch/active_grant.h"
#include "launch/idle_monitor.h"
#include "launch/inflight_limit.h"
#include "launch/work_report.h"
#include "threads/background_thread.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread; one at a time is in tick(). The drain protocol
// and its proof are in threads/drain.h.
class DrainMonitor {
 public:
  struct Parts {  // of the launch gate
    ActiveGrant& grant;
    WorkReport& report;
    InflightLimit& inflight;
    const BackgroundThread& background;
  };
  constexpr explicit DrainMonitor(const Parts& parts)
      : grant_(parts.grant),
        report_(parts.report),
        inflight_(parts.inflight),
        background_(parts.background),
        idle_(parts.grant, parts.report) {}

  // See LaunchGate::tick() and LaunchGate::sleepUntil().
  std::uint64_t tick(std::uint64_t now);
  void sleepUntil(std::uint64_t until, const std::uint32_t& wake, std::uint32_t seen) const;

  // See IdleMonitor.
  void noteActivation(std::uint64_t now) { idle_.noteActivation(now); }

  void forgetAfterFork();

 private:
  bool noteClosed(std::uint64_t now);
  bool endsInTime(std::uint64_t now) const;
  bool proveDrained(std::uint32_t word, std::uint64_t now);
  bool rest(std::uint64_t now, bool drained);
  std::uint64_t nextLook(std::uint32_t word, bool draining, std::uint64_t now) const;

  ActiveGrant& grant_;
  WorkReport& report_;
  InflightLimit& inflight_;
  const BackgroundThread& background_;
  IdleMonitor idle_;
  std::atomic<bool> ticking_{false};
  std::uint64_t free_watched_ = 0;  // launches through the open gate with an end to be observed
  std::uint32_t word_seen_ = 0;
  std::uint64_t ticks_ = 0;
};

}  // namespace divvy::interposer
