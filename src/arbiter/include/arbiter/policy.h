// Which tenants may use a group of devices now: the scheduling policy. Pure: instants and reports
// come in, orders go out; no clock, thread or file. A group is one device, or several that a tenant
// spans. A tenant holds all its devices at once or none. See policy/README.md for the bounds and
// their proofs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace divvy::arbiter {

// Instants and durations of one monotonic clock, in nanoseconds.
using Nanos = std::int64_t;
inline constexpr Nanos kNever = INT64_MAX;
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

inline constexpr unsigned kMaxGroupDevices = 16;

// Ordered from highest to lowest. Lower classes run in the gaps of higher ones, and get at least
// Constants::min_share.
enum class PriorityClass : std::uint8_t { kLatency, kNormal, kBestEffort };

// A tenant's entitlement on each device, in percent of the device's time.
struct Entitlement {
  PriorityClass cls = PriorityClass::kNormal;
  unsigned guarantee = 0;     // the weight; 0: an equal part of the unclaimed rest, at least 1
  unsigned ceiling = 100;     // 1..100: limit on the part of wall time (100: no cap)
  std::uint32_t devices = 1;  // bit i: device i of the group
  // False: the gate opens while no tenant shares a device with it. True: it gets an order for each
  // turn.
  bool never_open = false;
  friend bool operator==(const Entitlement&, const Entitlement&) = default;
};

// Durations at the speed of a real device, and one percentage. atSpeed() scales the durations for
// simulated cards.
struct Constants {
  Nanos quantum = 10 * kMillisecond;
  Nanos inflight = 2 * kMillisecond;                // per process, while other tenants want to run
  Nanos inflight_alone = 8 * kMillisecond;          // while no other tenant wants to run
  Nanos inflight_best_effort = 160 * kMicrosecond;  // of lower classes beside a higher one
  Nanos idle = 200 * kMicrosecond;                  // how soon a tenant reports that it is idle
  Nanos overlap = 150 * kMicrosecond;               // less than this in flight counts as drained
  Nanos drain_bound = 1 * kSecond;                  // then hand over without drain: unpreemptible
  Nanos cap_depth = 10 * kMillisecond;              // depth of the cap's token bucket, at 100 %
  Nanos gap_min = 200 * kMicrosecond;               // adaptive idle threshold of the latency class
  Nanos gap_max = 20 * kMillisecond;
  Nanos share_window = 10 * kSecond;  // window of min_share
  unsigned min_share = 5;             // percent for lower classes beside a busy latency class
};

// A tenant's state at an instant: the sum over its processes.
struct Report {
  bool waiting = false;       // a thread waits at the gate
  bool in_flight = false;     // some launched work is not known to have ended
  std::uint64_t drained = 0;  // sequence up to which all launched work has ended
  Nanos inflight_until = 0;   // estimated end of the work in flight; 0: unknown
  // Settled device time; only grows. Index: device of the group.
  std::array<Nanos, kMaxGroupDevices> busy{};
  bool credible = true;  // false: charge granted time instead
};

enum class Gate : std::uint8_t { kOpen, kRun, kHold };
enum class Mode : std::uint8_t { kSolo, kShare, kCap, kLatency, kBestEffort };

using TenantKey = std::uint32_t;  // names a tenant within one SchedulingPolicy; never reused

// An order to one tenant. Orders are carried out in the sequence that decide() returns.
struct Order {
  TenantKey tenant = 0;
  Gate gate = Gate::kOpen;
  Mode mode = Mode::kSolo;
  Nanos inflight = 0;
  Nanos quantum = 0;  // 0: until the next order
  Nanos overlap = 0;
  unsigned weight = 0;       // percent while all rivals want to run too
  std::uint64_t ticket = 0;  // number of this order; returned through issued()
};

// Statistics of one tenant. Counters only grow.
struct GroupStats {
  Mode mode = Mode::kSolo;
  Gate gate = Gate::kOpen;
  unsigned weight = 0;                        // percent, effective
  std::array<Nanos, kMaxGroupDevices> got{};  // charged device time
  Nanos throttled = 0;                        // time in which it wanted to run and was held
  std::uint64_t grants = 0;
  std::uint64_t undrained = 0;  // hand-overs without drain
  bool unpreemptible = false;
  Nanos gap = 0;  // idle threshold in force (latency class)
};

// State of a tenant that follows it into another policy: its account, its last order and its last
// report.
struct TenantHandoff;
// Index: device in the group that the tenant leaves; value: the same device in the new group.
using DeviceNumbers = std::array<unsigned, kMaxGroupDevices>;

class SchedulingPolicy {
 public:
  explicit SchedulingPolicy(const Constants& constants);
  ~SchedulingPolicy();
  SchedulingPolicy(SchedulingPolicy&&) noexcept;
  SchedulingPolicy& operator=(SchedulingPolicy&&) noexcept;

  // `setProcesses`: a tenant without processes takes no part. Changes of unknown tenants are
  // ignored.
  TenantKey add(const Entitlement& terms, Nanos now);
  void change(TenantKey tenant, const Entitlement& terms, Nanos now);
  void setProcesses(TenantKey tenant, unsigned processes, Nanos now);
  void remove(TenantKey tenant, Nanos now);

  // Returns the tenant's state for another policy; null for an unknown tenant. Must be called for
  // all tenants that move before any is removed.
  std::shared_ptr<const TenantHandoff> handoff(TenantKey tenant, Nanos now) const;
  // Continues with a state from another policy. `tenant` has just been added, with its processes.
  // Its reports start again at 0 of used time. `device_of[i]` is the number here of device i there.
  void resume(TenantKey tenant, const TenantHandoff& handoff, const DeviceNumbers& device_of,
              Nanos now);

  // May be called at any rate; only differences matter.
  void report(TenantKey tenant, const Report& report, Nanos now);

  // Returns the orders to give now; empty if nothing changed. The caller gives each order to the
  // tenant, then calls issued() with the sequence that the tenant got. Report::drained is compared
  // with that sequence.
  std::vector<Order> decide(Nanos now);
  void issued(const Order& order, std::uint64_t seq);

  // When decide() may return orders without another report; kNever: not before a report.
  Nanos nextWakeup() const;

  GroupStats stats(TenantKey tenant, Nanos now) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::arbiter
