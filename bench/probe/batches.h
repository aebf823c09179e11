// Batches of one call, timed by the processor time of the whole process.
#pragma once

#include <cstdint>

#include "calls.h"
#include "crew.h"

namespace divvy::bench {

struct BatchPlan {
  std::int64_t operations = 20'000;  // per batch
  int batches = 21;
  std::uint32_t workers = 1;  // processes that start each batch together
  bool granted = false;       // begin when Divvy gates this process
};

// Prints one line "batch NANOSECONDS" per batch: processor time of the process, helper threads
// included, divided by the operations; "granted" instead of "batch" where Divvy says that every one
// of them was a launch under a grant and none had to wait for it. Ends the process with status 1
// when a call fails.
void runBatches(const Call& call, const BatchPlan& plan, CrewPages& pages);

}  // namespace divvy::bench
