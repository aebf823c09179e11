// Spare bytes: bytes that a lane released and kept, so that a process that frees and allocates in
// turn stays on its own cache lines. They count in the total. Before an allocation is refused, they
// are taken back from running, stopped and dead processes alike.
#pragma once

#include "account/lane.h"
#include "ledger/pages.h"

namespace divvy::ledger {

// Returns whether a lane should keep `bytes` instead of refunding them. At least an eighth of the
// limit must be free, and the lane keeps at most a sixteenth of the limit.
bool worthKeeping(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// Must be called before a slot keeps or moves its first bytes; has no effect afterwards.
void markSpare(const LaneSite& site);

// Sum of the spare bytes of all slots. Not of a single instant if other processes move bytes.
std::uint64_t sumSpare(const TenantPages& pages, unsigned dev);

enum class Reclaimed : std::uint8_t {
  kSome,    // the total shrank
  kMoving,  // none found, but another process is moving some
  kNone,    // no lane has any
};

// Moves all spare bytes of the tenant to the total, through this lane.
Reclaimed reclaimSpare(const LaneSite& site, const TenantPages& pages, unsigned dev);

}  // namespace divvy::ledger
