// One tenant as the laws see it: what it is entitled to, what it said, and whose turn it is.
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
  kIdle,     // held back, and nothing of it is on the devices
  kRunning,  // may launch
  kLeaving,  // held back; what it launched has not ended
};

// What was said, told and used: all that goes with a tenant to another law.
struct TenantState {
  // Said by the tenant.
  Report said;
  Nanos said_at = 0;
  Nanos idle_since = 0;         // while it does not want to run
  Nanos usual_pause = kSecond;  // how long it did not, as a rule; nobody waits for the first ones

  // Told to the tenant.
  Order told;
  std::uint64_t hold_seq = 0;  // of the hold it is leaving under; 0: not told yet

  RunState turn = RunState::kIdle;
  bool solo = false;       // nobody arbitrates
  bool alone = false;      // runs on because nobody else wants to
  bool throttled = false;  // at its cap
  bool allowed = true;     // neither cap nor a class above forbids it to run
  bool unpreemptible = false;
  bool rescued = false;      // has this turn because its work does not end without
  bool left_behind = false;  // somebody was let run while it left
  bool stray = false;        // still at work although it has left
  Nanos granted_at = 0;      // when its present, or last, turn began
  Nanos quantum_end = 0;
  Nanos stopped_at = 0;
  Nanos left_at = 0;
  double usual_drain = 0;  // how long it took lately to make room for a class above

  Virtual v = 0;
  Virtual owed = 0;       // how far it was behind when it last paused
  Virtual granted_v = 0;  // `v` when its turn began
  TokenBucket cap;
  IdleGap gap;

  Meter meter;
  // Settled per device since it was last idle, and the largest of these.
  std::array<double, kMaxGroupDevices> stretch{};
  double busiest = 0;
  double unproven = 0;  // granted since it last settled anything
  double prepaid = 0;   // charged by time, and not set off against what it settled
};

struct Tenant : TenantState {
  Tenant(Key name, const Entitlement& asked, const Constants& constants);

  bool active() const { return processes > 0; }
  bool wants() const { return said.waiting || said.in_flight; }
  bool wide() const { return (terms.devices & (terms.devices - 1)) != 0; }
  bool overlaps(const Tenant& other) const { return (terms.devices & other.terms.devices) != 0; }
  // Alone in its class, with nobody above: never asked to wait for others.
  bool first() const { return rivals.empty() && above.empty(); }
  // Nobody shares a device with it, and nothing caps it.
  bool unshared() const { return first() && !has_below && terms.ceiling >= 100; }
  // A leaver that others wait for.
  bool blocks() const { return turn == RunState::kLeaving && !unpreemptible; }
  // Has work on the devices: while it may, or long after it should not.
  bool present() const {
    return turn == RunState::kRunning ? wants()
                                      : said.in_flight && (turn == RunState::kLeaving || stray);
  }

  // Virtual time, with what is used but not settled as far as can be told.
  Virtual projected() const { return v + virtualOf(meter.unsettled(), weight); }
  // How long until it will have used that much more, if it goes on as it did.
  Nanos timeToUse(double used) const {
    return static_cast<Nanos>(std::ceil(meter.timeToUse(used)));
  }
  // What was launched before it was told to hold has ended.
  bool drained(DeadlineSet* agenda) const;

  // Charges device time to virtual time and cap; `figures.got` is the caller's.
  void charge(double used);

  const Key key;
  Entitlement terms;
  unsigned processes = 0;

  Weight weight = kWholeWeight;
  unsigned percent = 100;

  // Others with a device in common, by class.
  std::vector<Tenant*> rivals;
  std::vector<Tenant*> above;
  bool has_below = false;

  GroupStats figures;
};

}  // namespace divvy::arbiter
