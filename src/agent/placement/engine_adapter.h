// The placement engine with this machine's cards and their allocations. Pure. Private.
#pragma once

#include <string>
#include <vector>

#include "agent/placement.h"
#include "base/result.h"
#include "engine/engine.h"

namespace divvy::agent {

inline constexpr std::int32_t kMilliPerPercent = 10;

// The engine's one node.
const engine::NodeName& thisMachine();

// An engine with these cards and their allocations: each of `holders` on its own, the rest
// together.
Result<engine::Engine> engineOf(const std::vector<Card>& cards, Bytes host_reserve,
                                const PlacementOptions& placing,
                                const std::vector<AllocationOwner>& holders = {});

}  // namespace divvy::agent
