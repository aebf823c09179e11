// What could be moved in a cluster as a snapshot has it, so that whole devices or nodes come free.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "engine/defragmentation.h"
#include "snapshot/snapshot.h"

namespace divvy::simulator {

struct DefragPlan {
  engine::DefragmentationGoal goal = engine::DefragmentationGoal::kDevices;
  engine::DefragmentationPlan plan;
  std::map<engine::RequestId, std::string> names;  // what people call them, where they do
};

// Who is confirmed may move, if what it asked for is known. Work lost is how long it has been
// there, in seconds. Fragmentation is measured against what is held and waited for, of requests of
// which only one container asks for devices.
Result<DefragPlan> planDefrag(const snapshot::Snapshot& snapshot, engine::DefragmentationGoal goal,
                              std::size_t most_moves);

// "GPU-1, GPU-2"; of who has no device: "".
std::string devicesOf(const engine::Placement& placement);
std::string json(const DefragPlan& plan);

}  // namespace divvy::simulator
