// One tenant of a group, as its arbiter uses it: bounded reports of its processes, and its grant.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/settings.h"
#include "arbiter/stats.h"
#include "credibility_monitor.h"
#include "ledger/grants.h"
#include "stats_window.h"
#include "tenant_residency.h"
#include "wakeup_limiter.h"

namespace divvy::arbiter {

// Used by the group's thread, or by the agent's main thread while the group has none.
class TenantChannel {
  // What the arbiter reads of each tenant in each step, also of those that it need not observe:
  // side by side and first in the object, it is in one cache line.
  struct HotState {
    Gate gate = Gate::kOpen;
    bool in_flight = false;  // at the last observe()
    bool waiting = false;    // at the last observe()
    bool passed = false;
    bool reports_times = false;
    Nanos observed_at = 0;
    Nanos quiet_since = 0;
    Nanos granted_at = 0;
  };
  HotState hot_;

 public:
  bool issued = false;                         // an order was written since it joined this group
  std::uint32_t bell = 0;                      // doorbell value, as last seen
  WakeupLimiter patience;                      // limits answers to its doorbell
  std::unique_ptr<TenantResidency> residency;  // its memory; null: cannot be swapped

  // `devices`: the node's numbers, in the order of the tenant's pages.
  TenantChannel(std::string id, ledger::GrantPages pages, const Entitlement& terms,
                std::vector<unsigned> devices, const Settings& settings);

  const std::string& id() const { return id_; }
  const std::vector<unsigned>& devices() const { return devices_; }
  ledger::GrantPages& pages() { return pages_; }

  void addProcess(unsigned slot, std::uint64_t generation);
  void removeProcess(unsigned slot, std::uint64_t generation);
  // The process cannot run (SIGSTOP, a debugger). Until it acts again it launches nothing, and its
  // launched work ends at the time that it reported.
  void haltProcess(unsigned slot, std::uint64_t generation);
  unsigned processes() const { return static_cast<unsigned>(processes_.size()); }

  // Swaps the tenant's memory from now on, through these pages.
  void enableSwap(ledger::ResidencyPages pages);
  // Starts its account in a new policy: earlier use does not count there.
  void join();
  // Accepts missing settlements, because no arbiter ran for a while.
  void excuseMissing(Nanos now);
  // Returns whether its lines are worth reading although its doorbell was not rung.
  bool mayDiffer(Nanos now) const {
    return hot_.gate != Gate::kHold || hot_.in_flight || now - hot_.observed_at > kObserveInterval;
  }
  // Returns whether its doorbell, which is memory of another process, need not be read either. The
  // tenant has been quiet for a while, and was read recently.
  bool isQuiescent(Nanos now) const {
    return quiet() && hot_.observed_at - hot_.quiet_since > kObserveInterval &&
           now - hot_.observed_at <= kMaxObserveInterval;
  }
  // As of the last observe().
  bool inFlight() const { return hot_.in_flight; }
  // Held with nothing in flight, and waiting for its turn: no ring of it can change which tenant
  // runs. A tenant with swapped memory is never quiet, because it also rings for memory.
  bool quiet() const {
    return hot_.gate == Gate::kHold && !hot_.in_flight && hot_.waiting && residency == nullptr;
  }
  // When inFlight() changed, if it did between the last two calls of observe(). Its processes
  // report the instant; without reports it is the time of the later call.
  Nanos turnedAt() const { return turned_at_; }
  // It was given its turn, and its work began and ended between two calls of observe().
  bool passed() const { return hot_.passed; }
  // All its processes report when work began and ended.
  bool reportsTimes() const { return hot_.reports_times; }
  Nanos grantedAt() const { return hot_.granted_at; }
  // When to check whether its work has begun, if its processes do not report that; kNever
  // otherwise.
  Nanos startSeenAt() const {
    if (hot_.reports_times || hot_.gate != Gate::kRun || hot_.in_flight || !hot_.waiting)
      return kNever;
    return hot_.granted_at + 2 * settings_.constants.overlap + settings_.constants.idle;
  }
  // Reads the lines of all processes. Reported device time counts up to the time for which the
  // process has been known, and never decreases.
  Report observe(Nanos now);

  // Carries out an order. Returns the sequence that the tenant got.
  std::uint64_t apply(const Order& order, Nanos now);
  bool gated() const { return hot_.gate != Gate::kOpen; }
  // Returns whether the order changes displayed values.
  bool changesStats(const Order& order) const {
    return order.mode != mode_ || order.weight != weight_ ||
           (order.gate == Gate::kOpen) != (hot_.gate == Gate::kOpen);
  }
  // Opens the gate: no arbiter gates this tenant from now on.
  void release(Nanos now) { apply(Order{}, now); }

  // Begins a new window of statistics. `policy`: the policy's current statistics of the tenant.
  void sample(const GroupStats& policy, Nanos now);
  // Rates of the last window; all other values as of now.
  TenantStats stats(const GroupStats& policy) const;
  // Adds up the statistics of a policy that is about to be left.
  void carry(const GroupStats& policy);

  Entitlement terms;
  TenantKey key = 0;
  bool distrusted = false;       // reports are never credible
  std::vector<unsigned> places;  // of its devices within the group
  struct MemoryState {
    ResidencyEntitlement entitlement;  // by its own devices
    std::string unswapped;             // why its memory is not swapped although it should be
    bool resident = true;              // false: takes no part in turns of compute
    bool park = false;                 // as last ordered
    bool reserved = false;             // as last ordered
  };
  MemoryState memory;
  std::shared_ptr<const TenantHandoff> handoff;  // state from its previous group; null: none

 private:
  // A held tenant with nothing in flight only settles earlier work.
  static constexpr Nanos kObserveInterval = 20 * kMillisecond;
  static constexpr Nanos kMaxObserveInterval = 500 * kMillisecond;

  struct Process {
    bool known = false;  // a line was read
    Nanos since = 0;     // when first read
    ledger::WorkSample last;
    Nanos granted_run = 0;  // grantedRun() when it last acted
    bool halted = false;
    Nanos halted_at = 0;
    std::array<Nanos, ledger::kMaxDevices> credited{};
  };
  // Sums over all processes, including ended ones.
  struct Sums {
    std::array<Nanos, ledger::kMaxDevices> busy{};  // index: the tenant's own device
    std::uint64_t launches = 0;
    std::uint64_t settles = 0;
    std::uint64_t waits = 0;
    std::uint64_t escapes = 0;
    Nanos cpu = 0;
    Nanos longest = 0;
  };
  // When work began and ended, as its processes report.
  struct WorkTimes {
    bool reported = true;
    bool moved = false;  // something was launched
    Nanos began = kNever;
    Nanos ended = 0;
    void add(const ledger::WorkSample& sample, bool in_flight) {
      reported = reported && sample.turned != 0;
      const auto at = static_cast<Nanos>(std::min<std::uint64_t>(sample.turned, INT64_MAX));
      if (in_flight) began = std::min(began, at);
      if (!in_flight) ended = std::max(ended, at);
    }
  };
  void noteTurn(const Report& report, const WorkTimes& turns, Nanos now);
  void absorb(Process& process, const ledger::WorkSample& sample, Nanos now);
  // Total time of the grants that it got.
  Nanos grantedRun(Nanos now) const {
    return granted_run_ + (hot_.gate == Gate::kRun ? now - hot_.granted_at : 0);
  }
  // Returns whether the process still waits for its turn. A process that had reactionTime() of
  // granted time without acting is stopped or kept from the processor; it counts again once it
  // acts.
  bool waits(const Process& process, Nanos now) const {
    // A process stopped at the gate may be back, and acts only after it has had a turn.
    const bool at_work = (process.last.state & ledger::kWorkInFlight) != 0;
    return (process.last.state & ledger::kWorkWaiting) != 0 && !(process.halted && at_work) &&
           grantedRun(now) - process.granted_run < reactionTime();
  }
  // A distrusted process may have more in flight than it reports.
  bool worksOn(const Process& process, Nanos now) const {
    if ((process.last.state & ledger::kWorkInFlight) == 0) return false;
    if (distrusted || !process.halted) return true;
    const bool unknown = process.last.inflight_until == 0;
    return (unknown ? process.halted_at + settings_.constants.drain_bound
                    : untilOf(process.last, now)) > now;
  }
  // Reported end of its work, with a limit on how far ahead it may be.
  static Nanos untilOf(const ledger::WorkSample& sample, Nanos now);
  Nanos reactionTime() const { return std::max(settings_.constants.quantum, 10 * kMillisecond); }

  ledger::GrantPages pages_;
  std::map<std::pair<unsigned, std::uint64_t>, Process> processes_;
  Nanos turned_at_ = 0;
  const Settings settings_;
  std::string id_;
  std::vector<unsigned> devices_;
  Sums sums_;
  std::array<Nanos, ledger::kMaxDevices> past_busy_{};  // before it joined

  Mode mode_ = Mode::kSolo;
  unsigned weight_ = 0;
  CredibilityMonitor credibility_;
  Nanos granted_run_ = 0;  // in all grants that have ended
  StatsWindow stats_;
};

}  // namespace divvy::arbiter
