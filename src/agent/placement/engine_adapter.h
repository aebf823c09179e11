// The placement engine with this machine's cards in it, and who has what of them. Pure. Private.
#pragma once

#include <string>
#include <vector>

#include "agent/placement.h"
#include "base/result.h"
#include "engine/engine.h"

namespace divvy::agent {

inline constexpr std::int32_t kMilliPerPercent = 10;

// The one node that it knows.
const engine::NodeName& thisMachine();

// With these cards, and who is there; `holders` each on its own, the others together.
Result<engine::Engine> engineOf(const std::vector<Card>& cards, Bytes host_reserve,
                                const PlacementOptions& placing,
                                const std::vector<AllocationOwner>& holders = {});

}  // namespace divvy::agent
