// Whose memory is on the devices now: the law of residency. Pure: instants come in, orders go out;
// no clock, thread or file. Tenants that ask for more than a device has take turns on it, a swap
// apart. See policy/README.md for the formulas, and why its book never exceeds a device's budget.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// By device of the group; bytes.
using DeviceBytes = std::array<std::uint64_t, kMaxGroupDevices>;

// What one tenant has on one device: the sum over its processes. Bytes.
struct ResidentBytes {
  std::uint64_t swappable = 0;  // allocated, of what can be swapped
  std::uint64_t mapped = 0;     // of these on the device
  std::uint64_t pinned = 0;     // on the device for as long as it lives
  std::uint64_t want = 0;       // asked for, of what cannot be swapped
  // The most that it has, or may still take under an order that it may not have seen replaced.
  std::uint64_t held = 0;
  friend bool operator==(const ResidentBytes&, const ResidentBytes&) = default;
};

// What is known of a tenant at an instant.
struct ResidencyReport {
  std::array<ResidentBytes, kMaxGroupDevices> at{};
  bool ready = false;       // all that it may touch is on the devices
  bool wants = false;       // it runs, or waits for its turn or its memory
  bool capturing = false;   // nothing of it can leave just now
  bool refused = false;     // it could not obey its last order
  bool distrusted = false;  // it has more than it says
  bool maps_host = false;   // it can use memory of the host in place of a device's
  Nanos idle_since = 0;     // while it does not want
  friend bool operator==(const ResidencyReport&, const ResidencyReport&) = default;
};

// What a tenant is entitled to.
struct ResidencyEntitlement {
  Class cls = Class::kNormal;
  unsigned weight = 100;  // its turns last as long, relative to others'; 1..100
  DeviceBytes guarantee{};
  DeviceBytes ceiling{};
  DeviceBytes base{};      // what it is going to have at least: contexts
  bool swappable = true;   // false: may use up to its ceiling at any time
  bool host_map = false;   // what no device has room for may be used where it is, with the host
  Nanos unused_after = 0;  // idle for so long it gives its memory back, wanted or not; 0: never
  std::uint32_t devices = 1;
  // All of it can be made to leave, what is pinned too, and is not guaranteed: it can be parked.
  bool parkable = false;
  bool parked = false;        // it is: on no device is there anything of it
  bool may_return = true;     // of one that is parked
  DeviceBytes parked_need{};  // and what it takes to bring it back
  std::uint32_t round = 0;    // whatever it is; told again with figures that count for these terms
  friend bool operator==(const ResidencyEntitlement&, const ResidencyEntitlement&) = default;
};

// What a swap costs on a device.
struct Link {
  double out_bps = 10e9;  // bytes per second, to the host
  double in_bps = 10e9;
  Nanos per_chunk = 250 * kMicrosecond;
  Nanos drain = kMillisecond;
  std::uint64_t chunk = std::uint64_t{32} << 20;
  friend bool operator==(const Link&, const Link&) = default;
};

struct ResidencyBudget {
  std::uint64_t budget = 0;        // bytes that tenants may have on it at any instant
  std::uint64_t host_reserve = 0;  // bytes of host memory for what is out
  Link link;
  friend bool operator==(const ResidencyBudget&, const ResidencyBudget&) = default;
};

struct ResidencyConstants {
  Nanos quantum_min = 2 * kSecond;
  Nanos quantum_max = 60 * kSecond;
  Nanos quantum = 0;                    // 0: as follows from what a swap costs
  Nanos idle_min = 50 * kMillisecond;   // before an idle tenant's memory may be taken
  Nanos return_min = kSecond;           // before it may for a lower class
  Nanos retry_min = 10 * kMillisecond;  // before a tenant that refused is asked again; doubles
  Nanos retry_max = kSecond;            // up to this
  Nanos patience = 5 * kSecond;         // with one that neither obeys nor refuses
  Nanos thrash_window = 60 * kSecond;   // over which swaps are counted
  Nanos thrash_swap = kSecond;          // swaps shorter than this do not matter
  Nanos park = 500 * kMillisecond;      // what parking takes besides the copies, and coming back
};

// Why a tenant has what it has, for people. As ledger::ResidencyReason.
enum class ResidencyTargetReason : std::uint8_t {
  kFits,
  kOthersTurn,
  kIdle,
  kHigherClass,
  kUnused,
  kShort
};

// What one tenant is told. Orders that lower what somebody may have come first.
struct ResidencyTarget {
  Key tenant = 0;
  DeviceBytes allowed{};  // on the device now, all included
  DeviceBytes most{};     // what it can be given as things are
  DeviceBytes want{};     // of Holding::want, what may be taken
  std::uint64_t host_allowed = 0;
  bool eligible = true;    // takes part in turns of compute
  bool host_map = false;   // is to run with the host's memory for what it lacks
  bool yields = false;     // out for a higher class
  bool contended = false;  // somebody lacks what it has, and it may be taken at any time
  bool lowers = false;     // less is allowed than before
  bool park = false;       // to be parked: what swapping takes of it is not enough
  bool reserved = false;   // of one that is parked: what it needs to come back is its own
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  friend bool operator==(const ResidencyTarget&, const ResidencyTarget&) = default;
};

struct ResidencyStats {
  DeviceBytes allowed{};
  DeviceBytes book{};  // what it counts for: the larger of what it may have and what it has
  DeviceBytes floor{};
  bool resident = false;  // has, or is being given, all that it needs
  bool eligible = true;
  bool waiting = false;    // for its turn
  bool contended = false;  // as ResidencyTarget::contended
  bool host_map = false;
  bool park = false;
  bool reserved = false;
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  Key taker = 0;            // who has what it lacks; 0: nobody that is known
  Nanos turn_ends = 0;      // 0: no turn, or nobody waits
  std::uint64_t swaps = 0;  // in
  Nanos longest_wait = 0;   // from wanting to being resident
};

struct ResidencyBudgetStats {
  std::uint64_t budget = 0;
  std::uint64_t book = 0;
  double ratio = 0;   // what contenders need, of the budget
  Nanos quantum = 0;  // as last computed
  Nanos swap_predicted = 0;
  Nanos swap_actual = 0;        // the last one
  double prediction_error = 0;  // |predicted / actual - 1|, on average
  bool thrash_risk = false;
};

class Residency {
 public:
  explicit Residency(const ResidencyConstants& constants);
  ~Residency();
  Residency(Residency&&) noexcept;
  Residency& operator=(Residency&&) noexcept;

  // Devices without a budget have room for everything.
  void setDevice(unsigned device, const ResidencyBudget& terms);

  void add(Key tenant, const ResidencyEntitlement& terms, Nanos now);
  void change(Key tenant, const ResidencyEntitlement& terms, Nanos now);
  void remove(Key tenant, Nanos now);

  // What it has before it is told anything, another law let it have. To be read after the orders of
  // the last decide() were written. May be called as often as wanted; only differences matter. Who
  // does not report may have taken all that it was told since it did: to be called for whoever is
  // told to have less, or nobody else will ever have that.
  void report(Key tenant, const ResidencyReport& stay, Nanos now);

  // What is to be told now; empty when nothing changed.
  std::vector<ResidencyTarget> decide(Nanos now);

  // When decide() may have something to say without another report; kNever: not before one.
  Nanos wakeAt() const;

  ResidencyStats figures(Key tenant) const;
  ResidencyBudgetStats device(unsigned device) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace divvy::arbiter
