// State of a tenant, for display.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/residency.h"

namespace divvy::arbiter {

// State of a tenant with memory that may be swapped.
struct MemoryStats {
  bool swapped = false;  // takes turns on its devices' memory; false: the fields below do not count
  std::string unswapped;  // why its memory is not swapped although it should be; empty: no obstacle
  bool resident = true;   // all its memory is on its devices, or need not be
  bool waiting = false;   // waits for its turn
  bool park = false;      // to be parked, because swapping does not free enough
  bool reserved = false;  // is parked, and memory for its return is booked for it
  std::uint32_t round = 0;  // ResidencyEntitlement::round that these values reflect
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  std::string lent_to;                 // the tenant with the memory that it lacks; empty: unknown
  std::vector<std::uint64_t> allowed;  // bytes on each device, in the tenant's order
  Nanos turn_left = 0;
  std::uint64_t swaps = 0;
  Nanos longest_wait = 0;
};

struct TenantStats {
  // Why the tenant is not gated: pages of an older version, a truncated file. Empty: gated as
  // needed.
  std::string ungated;
  Mode mode = Mode::kSolo;
  Gate gate = Gate::kOpen;
  unsigned weight = 0;  // percent that it gets while all other tenants want to run too
  bool unpreemptible = false;
  bool distrusted = false;
  // Over the last window of about a second.
  // Part of each device's time, in the tenant's order; -1: not known.
  std::vector<int> got_permille;
  unsigned throttled_permille = 0;
  unsigned grants_per_s = 0;
  unsigned cpu_permille = 0;  // of one core, by our threads in its processes
  // Since this agent added the tenant.
  Nanos throttled = 0;
  std::uint64_t grants = 0;
  std::uint64_t waits = 0;
  std::uint64_t escapes = 0;
  Nanos longest = 0;  // longest single kernel or graph
  Nanos cpu = 0;
  MemoryStats memory;
};

}  // namespace divvy::arbiter
