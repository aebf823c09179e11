// Spare bytes: what a lane gave back and kept, so that a process that frees and allocates in turn
// stays on its own cache lines. They count in the total; whoever is refused takes them back first,
// from running, stopped and dead processes alike.
#pragma once

#include "account/lane.h"
#include "ledger/pages.h"

namespace divvy::ledger {

// Whether a lane should keep `bytes` instead of refunding them: there is room that nobody is short
// of (an eighth of the limit), and one lane never sits on more than a sixteenth of it.
bool worthKeeping(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// To be called before a slot keeps or moves its first bytes; a no-op afterwards.
void markSpare(const LaneSite& site);

// Sum of the spare bytes of all slots, at no single moment while others move.
std::uint64_t sumSpare(const TenantPages& pages, unsigned dev);

enum class Reclaimed : std::uint8_t {
  kSome,    // the total shrank
  kMoving,  // none here, but another process is just moving some
  kNone,    // nobody has any
};

// Moves all spare bytes of the tenant from wherever they are to the total, through this lane.
Reclaimed reclaimSpare(const LaneSite& site, const TenantPages& pages, unsigned dev);

}  // namespace divvy::ledger
