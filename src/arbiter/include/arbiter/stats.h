// How a tenant fares, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/residency.h"

namespace divvy::arbiter {

// Of a tenant whose memory may be swapped.
struct MemoryStats {
  bool swapped = false;     // takes turns on its devices' memory; else nothing below counts
  std::string unswapped;    // why it does not although it was to
  bool resident = true;     // all its memory is there, or need not be
  bool waiting = false;     // for its turn
  bool park = false;        // is to be parked: what swapping takes of it is not enough
  bool reserved = false;    // is parked, and what it needs to come back is its own
  std::uint32_t round = 0;  // ResidencyEntitlement::round, when that was so
  ResidencyTargetReason reason = ResidencyTargetReason::kFits;
  std::string lent_to;                 // who has what it lacks; empty: not known
  std::vector<std::uint64_t> allowed;  // bytes on each device, in the tenant's order
  Nanos turn_left = 0;
  std::uint64_t swaps = 0;
  Nanos longest_wait = 0;
};

struct TenantStats {
  // Not gated, and why: pages of an older version, a truncated file. Empty: gated as needed.
  std::string ungated;
  Mode mode = Mode::kSolo;
  Gate gate = Gate::kOpen;
  unsigned weight = 0;  // percent that it gets while all others want to run too
  bool unpreemptible = false;
  bool distrusted = false;
  // Over the last window of about a second.
  std::vector<int> got_permille;  // of each device's time, in the tenant's order; -1: not known
  unsigned throttled_permille = 0;
  unsigned grants_per_s = 0;
  unsigned cpu_permille = 0;  // of one core, by our threads in its processes
  // Of its life with this agent.
  Nanos throttled = 0;
  std::uint64_t grants = 0;
  std::uint64_t waits = 0;
  std::uint64_t escapes = 0;
  Nanos longest = 0;  // single kernel or graph
  Nanos cpu = 0;
  MemoryStats memory;
};

}  // namespace divvy::arbiter
