// Snapshots by chance, to test with.
#pragma once

#include "base/rng.h"
#include "snapshot/snapshot.h"

namespace divvy::snapshot::some {

// Engines' own states: what is held was placed there, what was asked was decided there, and the
// history leads to what is now.
Snapshot snapshot(Rng& rng, std::size_t steps);

}  // namespace divvy::snapshot::some
