// Which tenants' memory is on the devices now: the residency policy. Pure: instants and reports
// come in, orders go out; no clock, thread or file. Tenants that together need more than a device
// has take turns on it; each turn starts with a swap. See policy/README.md for the formulas, and
// the proof that booked memory never exceeds a device's budget.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// Bytes, by device of the group.
using DeviceBytes = std::array<std::uint64_t, kMaxGroupDevices>;

// Memory of one tenant on one device: the sum over its processes. Bytes.
struct ResidentBytes {
  std::uint64_t swappable = 0;  // allocated memory that can be swapped
  std::uint64_t mapped = 0;     // the part of `swappable` that is on the device
  std::uint64_t pinned = 0;     // on the device until it is freed
  std::uint64_t want = 0;       // requested memory that cannot be swapped
  // The most that it has, or may still take under an order that it may not have seen replaced.
  std::uint64_t held = 0;
  friend bool operator==(const ResidentBytes&, const ResidentBytes&) = default;
};

// A tenant's state at an instant.
struct ResidencyReport {
  std::array<ResidentBytes, kMaxGroupDevices> at{};
  bool ready = false;       // all memory that it may touch is on the devices
  bool wants = false;       // runs, or waits for its turn or its memory
  bool capturing = false;   // none of its memory can leave at the moment
  bool refused = false;     // could not obey its last order
  bool distrusted = false;  // has more than it reports
  bool maps_host = false;   // can use host memory in place of device memory
  Nanos idle_since = 0;     // while `wants` is false
  friend bool operator==(const ResidencyReport&, const ResidencyReport&) = default;
};

// A tenant's entitlement to memory.
struct ResidencyEntitlement {
  PriorityClass cls = PriorityClass::kNormal;
  unsigned weight = 100;  // length of its turns relative to other tenants'; 1..100
  DeviceBytes guarantee{};
  DeviceBytes ceiling{};
  DeviceBytes base{};     // least that it will have: contexts
  bool swappable = true;  // false: may use up to its ceiling at any time
  bool host_map = false;  // memory that no device has room for may be used at the host
  // Idle time after which it gives its memory back, needed or not; 0: never.
  Nanos unused_after = 0;
  std::uint32_t devices = 1;
  // All its memory, pinned included, can leave the devices, and none is guaranteed: it can be
  // parked.
  bool parkable = false;
  bool parked = false;        // none of its memory is on any device
  bool may_return = true;     // a parked tenant may come back
  DeviceBytes parked_need{};  // bytes that bring a parked tenant back
  // Opaque; MemoryStats::round repeats it once the statistics reflect these values.
  std::uint32_t round = 0;
  friend bool operator==(const ResidencyEntitlement&, const ResidencyEntitlement&) = default;
};

// Cost of a swap on a device.
struct SwapCost {
  double out_bps = 10e9;                          // bytes per second, to the host
  double in_bps = 10e9;                           // bytes per second, from the host
  Nanos per_chunk = 250 * kMicrosecond;           // cost of a chunk, in addition to its copy
  Nanos drain = kMillisecond;                     // time to drain work before a swap
  std::uint64_t chunk = std::uint64_t{32} << 20;  // bytes
  friend bool operator==(const SwapCost&, const SwapCost&) = default;
};

struct ResidencyBudget {
  std::uint64_t budget = 0;        // bytes that tenants may have on the device at any instant
  std::uint64_t host_reserve = 0;  // bytes of host memory for swapped-out memory
  SwapCost swap_cost;
  friend bool operator==(const ResidencyBudget&, const ResidencyBudget&) = default;
};

struct ResidencyConstants {
  Nanos quantum_min = 2 * kSecond;
  Nanos quantum_max = 60 * kSecond;
  Nanos quantum = 0;                   // 0: derived from the cost of a swap
  Nanos idle_min = 50 * kMillisecond;  // idle time before a tenant's memory may be taken
  Nanos return_min = kSecond;          // the same, if a lower class takes it
  // Pause before a tenant that refused is asked again; doubles.
  Nanos retry_min = 10 * kMillisecond;
  Nanos retry_max = kSecond;           // limit of that pause
  Nanos patience = 5 * kSecond;        // for a tenant that neither obeys nor refuses
  Nanos thrash_window = 60 * kSecond;  // over which swaps are counted
  Nanos thrash_swap = kSecond;         // shorter swaps raise no thrash risk
  Nanos park = 500 * kMillisecond;     // cost of parking, and of coming back, beside the copies
};

// The reason for a tenant's present memory, for display. Same values as ledger::ResidencyReason.
enum class ResidencyTargetReason : std::uint8_t {
  kFits,
  kOthersTurn,
  kIdle,
  kHigherClass,
  kUnused,
  kShort
};

// An order to one tenant. Orders that lower `allowed` come first.
struct ResidencyTarget {
  TenantKey tenant = 0;
  DeviceBytes allowed{};           // bytes on the device now, pinned included
  DeviceBytes most{};              // the most that it can be given at present
  DeviceBytes want{};              // the part of ResidentBytes::want that may be taken
  std::uint64_t host_allowed = 0;  // bytes of host memory that it may use
  bool eligible = true;            // takes part in turns of compute
  bool host_map = false;           // runs with host memory for the missing part
  bool yields = false;             // swapped out for a higher class
  bool contended = false;          // others lack memory that it has; it may be taken at any time
  bool lowers = false;             // less is allowed than in the last order
  bool park = false;               // to be parked, because swapping does not free enough
  bool reserved = false;           // it is parked, and memory for its return is booked for it
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  friend bool operator==(const ResidencyTarget&, const ResidencyTarget&) = default;
};

struct ResidencyStats {
  DeviceBytes allowed{};
  DeviceBytes booked{};  // counted memory: the largest of allowed, held and ordered memory
  DeviceBytes floor{};
  bool resident = false;  // has, or is being given, all that it needs
  bool eligible = true;
  bool waiting = false;    // waits for its turn
  bool contended = false;  // see ResidencyTarget::contended
  bool host_map = false;
  bool park = false;
  bool reserved = false;
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  TenantKey taker = 0;      // the tenant with the memory that it lacks; 0: none known
  Nanos turn_ends = 0;      // 0: no turn, or no tenant waits
  std::uint64_t swaps = 0;  // swaps in
  Nanos longest_wait = 0;   // from wanting memory to being resident
};

struct ResidencyBudgetStats {
  std::uint64_t budget = 0;
  std::uint64_t booked = 0;
  double ratio = 0;   // need of the contenders / budget
  Nanos quantum = 0;  // as last computed
  // Time of a swap, predicted and as last measured.
  Nanos swap_predicted = 0;
  Nanos swap_actual = 0;
  double prediction_error = 0;  // mean of |predicted / actual - 1|
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

  void add(TenantKey tenant, const ResidencyEntitlement& terms, Nanos now);
  void change(TenantKey tenant, const ResidencyEntitlement& terms, Nanos now);
  void remove(TenantKey tenant, Nanos now);

  // Only differences matter; may be called at any rate. Memory in the first report, before any
  // order, was allowed by an earlier policy.
  //
  // Reports must be read after the orders of the last decide() were written. Until its next report,
  // a tenant counts as if it had taken all that it was ordered since its last one. So this must be
  // called for each tenant with ResidencyTarget::lowers, or the memory is never given to other
  // tenants.
  void report(TenantKey tenant, const ResidencyReport& stay, Nanos now);

  // Returns the orders to give now; empty if nothing changed.
  std::vector<ResidencyTarget> decide(Nanos now);

  // When decide() may return orders without another report; kNever: not before a report.
  Nanos nextWakeup() const;

  ResidencyStats stats(TenantKey tenant) const;
  ResidencyBudgetStats device(unsigned device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::arbiter
