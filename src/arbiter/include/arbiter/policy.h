// Who may use a group of devices now: the control laws. Pure: instants come in, orders go out; no
// clock, thread or file. A group is one device, or several that a tenant spans; a tenant holds all
// of its devices at once or none. See policy/README.md for the bounds and their proofs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace divvy::arbiter {

// Instants and durations of one monotonic clock.
using Nanos = std::int64_t;
inline constexpr Nanos kNever = INT64_MAX;
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

inline constexpr unsigned kMaxGroupDevices = 16;

// Earlier classes come before later ones, which get the gaps and at least Constants::min_share.
enum class Class : std::uint8_t { kLatency, kNormal, kBestEffort };

// What a tenant is entitled to, per device, in percent of its time.
struct Entitlement {
  Class cls = Class::kNormal;
  unsigned guarantee = 0;     // its weight; 0: an equal part of what no weight claims, at least 1
  unsigned ceiling = 100;     // 1..100: never more than this of wall time (100: no cap)
  std::uint32_t devices = 1;  // bit i: device i of the group
  bool never_open = false;    // it is to be told of each turn, also where nobody shares with it
  friend bool operator==(const Entitlement&, const Entitlement&) = default;
};

// All durations; a slower card (tests) scales every one.
struct Constants {
  Nanos quantum = 10 * kMillisecond;
  Nanos inflight = 2 * kMillisecond;                // per process, while others want to run
  Nanos inflight_alone = 8 * kMillisecond;          // while nobody else wants to
  Nanos inflight_best_effort = 160 * kMicrosecond;  // of lower classes beside a higher one
  Nanos idle = 200 * kMicrosecond;                  // how soon a tenant reports that it is idle
  Nanos overlap = 150 * kMicrosecond;               // in flight below this counts as drained
  Nanos drain_bound = 1 * kSecond;                  // then hand over without drain: unpreemptible
  Nanos cap_depth = 10 * kMillisecond;              // of the cap's bucket, at 100 %
  Nanos gap_min = 200 * kMicrosecond;               // adaptive idle threshold of the latency class
  Nanos gap_max = 20 * kMillisecond;
  Nanos share_window = 10 * kSecond;  // over which min_share and figures are meant
  unsigned min_share = 5;             // percent for lower classes beside a busy latency class
};

// What is known of a tenant at an instant: the sum over its processes.
struct Report {
  bool waiting = false;       // some thread waits at the gate
  bool in_flight = false;     // something launched is not known to have ended
  std::uint64_t drained = 0;  // sequence up to which everything launched has ended
  Nanos inflight_until = 0;   // when what is in flight ends, as far as can be told; 0: unknown
  // Device time used so far, settled; only grows. Index: device of the group.
  std::array<Nanos, kMaxGroupDevices> busy{};
  bool credible = true;  // false: charge for what was granted instead
};

enum class Gate : std::uint8_t { kOpen, kRun, kHold };
enum class Mode : std::uint8_t { kSolo, kShare, kCap, kLatency, kBestEffort };

using Key = std::uint32_t;  // names a tenant within one Law; never used twice

// What one tenant is told. Carried out in the order given.
struct Order {
  Key tenant = 0;
  Gate gate = Gate::kOpen;
  Mode mode = Mode::kSolo;
  Nanos inflight = 0;
  Nanos quantum = 0;  // 0: until further notice
  Nanos overlap = 0;
  unsigned weight = 0;       // percent while all others want to run too
  std::uint64_t ticket = 0;  // of this order; given back through issued()
};

// Counters only grow.
struct GroupStats {
  Mode mode = Mode::kSolo;
  Gate gate = Gate::kOpen;
  unsigned weight = 0;                        // percent, effective
  std::array<Nanos, kMaxGroupDevices> got{};  // charged
  Nanos throttled = 0;                        // wanted to run and was not let
  std::uint64_t grants = 0;
  std::uint64_t undrained = 0;  // hand-overs without drain
  bool unpreemptible = false;
  Nanos gap = 0;  // the idle threshold in force (latency class)
};

// How a tenant stands in a law: what it is owed or owes, was told and has said.
struct TenantHandoff;
// Of the devices of one group in another.
using DeviceNumbers = std::array<unsigned, kMaxGroupDevices>;

class SchedulingPolicy {
 public:
  explicit SchedulingPolicy(const Constants& constants);
  ~SchedulingPolicy();
  SchedulingPolicy(SchedulingPolicy&&) noexcept;
  SchedulingPolicy& operator=(SchedulingPolicy&&) noexcept;

  // `processes`: how many use the devices; a tenant without any takes no part.
  Key add(const Entitlement& terms, Nanos now);
  void change(Key tenant, const Entitlement& terms, Nanos now);
  void setProcesses(Key tenant, unsigned processes, Nanos now);
  void remove(Key tenant, Nanos now);

  // Has another law go on where this one ends; ask for all tenants before any is removed. Null:
  // nobody of that name.
  std::shared_ptr<const TenantHandoff> handoff(Key tenant, Nanos now) const;
  // `tenant` has just been added, with the processes that it had. What it used is reported from 0
  // on. `device_of[i]`: what that law's device i is here.
  void resume(Key tenant, const TenantHandoff& handoff, const DeviceNumbers& device_of, Nanos now);

  // May be called as often as wanted; only differences matter.
  void report(Key tenant, const Report& report, Nanos now);

  // What is to be told now; empty when nothing changed. The caller tells the tenant and answers
  // each with issued(): the sequence under which the tenant was told, against which
  // Report::drained is compared.
  std::vector<Order> decide(Nanos now);
  void issued(const Order& order, std::uint64_t seq);

  // When decide() may have something to say without another report; kNever: not before one.
  Nanos wakeAt() const;

  GroupStats figures(Key tenant, Nanos now) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace divvy::arbiter
