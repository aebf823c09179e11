// One tenant of the scheduling policy: its entitlement, its reports, and its turn.
#pragma once

#include <array>
#include <vector>

#include "arbiter/policy.h"
#include "policy/deadline_set.h"
#include "policy/idle_gap.h"
#include "policy/meter.h"
#include "policy/token_bucket.h"
#include "policy/virtual_time.h"

namespace divvy::arbiter {

enum class RunState : std::uint8_t {
  kIdle,      // held, and no work of it is on the devices
  kRunning,   // may launch
  kDraining,  // held; launched work has not ended
};

// Reports, orders and account of a tenant: what a handoff to another policy carries.
struct TenantState {
  // Reported by the tenant.
  Report reported;
  Nanos reported_at = 0;
  Nanos idle_since = 0;         // while it does not want to run
  Nanos usual_pause = kSecond;  // its usual pause; starts so long that early pauses are not awaited

  // Ordered.
  Order last_order;
  std::uint64_t hold_seq = 0;  // of the hold that it leaves under; 0: not sent yet

  RunState turn = RunState::kIdle;
  bool solo = false;       // not arbitrated
  bool alone = false;      // runs on because no other tenant wants to
  bool throttled = false;  // at its cap
  bool allowed = true;     // neither its cap nor a higher class forbids it to run
  bool unpreemptible = false;
  bool boosted = false;        // has this turn because its work does not end without it
  bool left_behind = false;    // a tenant was let run while it left
  bool still_working = false;  // still at work although it has left
  Nanos granted_at = 0;        // when its present or last turn began
  Nanos quantum_end = 0;
  Nanos stopped_at = 0;
  Nanos left_at = 0;
  double usual_drain = 0;  // how long it took lately to leave for a higher class

  Virtual v = 0;
  Virtual lag = 0;        // how far it was behind when it last paused
  Virtual granted_v = 0;  // `v` when its turn began
  TokenBucket cap;
  IdleGap gap;

  Meter meter;
  // Device time settled since it was last idle, per device, and the largest of these.
  std::array<double, kMaxGroupDevices> stretch{};
  double busiest = 0;
  double unproven = 0;  // granted since it last settled anything
  double prepaid = 0;   // charged by time, and not yet set off against settled time
};

struct Tenant : TenantState {
  Tenant(TenantKey name, const Entitlement& asked, const Constants& constants);

  bool active() const { return processes > 0; }
  bool isRunnable() const { return reported.waiting || reported.in_flight; }
  bool wide() const { return (terms.devices & (terms.devices - 1)) != 0; }
  bool overlaps(const Tenant& other) const { return (terms.devices & other.terms.devices) != 0; }
  // Alone in its class, without a higher class: never asked to wait for other tenants.
  bool first() const { return rivals.empty() && above.empty(); }
  // No tenant shares a device with it, and it has no cap.
  bool unshared() const { return first() && !has_below && terms.ceiling >= 100; }
  // It leaves, and other tenants wait for that.
  bool blocks() const { return turn == RunState::kDraining && !unpreemptible; }
  // It has work on the devices: in its turn, or long after its turn.
  bool present() const {
    return turn == RunState::kRunning
               ? isRunnable()
               : reported.in_flight && (turn == RunState::kDraining || still_working);
  }

  // Virtual time, including the estimate of used but not settled time.
  Virtual projected() const { return v + virtualOf(meter.unsettled(), weight); }
  // Time until it will have used `used` more, at its usual rate.
  Nanos timeToUse(double used) const {
    return static_cast<Nanos>(std::ceil(meter.timeToUse(used)));
  }
  // Work launched before its hold has ended.
  bool drained(DeadlineSet* agenda) const;

  // Charges device time to virtual time and cap. The caller updates `stats.got`.
  void charge(double used);

  const TenantKey key;
  Entitlement terms;
  unsigned processes = 0;

  Weight weight = kWholeWeight;
  unsigned percent = 100;

  // Other tenants with a device in common, by class.
  std::vector<Tenant*> rivals;
  std::vector<Tenant*> above;
  bool has_below = false;

  GroupStats stats;
};

}  // namespace divvy::arbiter
