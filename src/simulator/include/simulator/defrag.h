// Plans which allocations of a snapshot to move, so that whole devices or nodes become free. Pure.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "engine/defragmentation.h"
#include "snapshot/snapshot.h"

namespace divvy::simulator {

// A plan of moves, with the names of its allocations.
struct DefragPlan {
  engine::DefragmentationGoal goal = engine::DefragmentationGoal::kDevices;
  engine::DefragmentationPlan plan;
  std::map<engine::RequestId, std::string>
      names;  // for users; allocations without a name are missing
};

// Plans at most `most_moves` moves for the goal. Only confirmed allocations with a known request
// may move. The work that a move loses is the allocation's age in seconds. Fragmentation is
// measured against the held and pending requests of which one container requests devices. kUsage:
// the engine does not accept the snapshot.
Result<DefragPlan> planDefrag(const snapshot::Snapshot& snapshot, engine::DefragmentationGoal goal,
                              std::size_t most_moves);

// Returns the devices of a placement: "GPU-1, GPU-2"; an empty text if it has none.
std::string devicesOf(const engine::Placement& placement);
// Returns the plan as a JSON document.
std::string json(const DefragPlan& plan);

}  // namespace divvy::simulator
