// Loads that need memory: a batch job, and a service that is asked for now and then.
#pragma once

#include "loads.h"

namespace divvy::bench {

// Works through `seconds` of kernels on `memory_mib` of memory, then reads all of it back.
void runBatch(const LoadStage& stage, LoadFacts* facts);

// Active for `on_s`, then not for `off_s`, from `start_s` on. The first request of each activity
// uses every block; its answer is an entry of facts->answers.
void runService(const LoadStage& stage, LoadFacts* facts);

}  // namespace divvy::bench
