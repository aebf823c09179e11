// Several processes doing the same work at the same time.
#pragma once

#include <functional>

#include "barrier.h"

namespace divvy::bench {

// What the members of a crew share.
struct CrewPages {
  Barrier ready;  // everybody, the idle ones too
  Barrier batch;  // the workers, before each batch
};

struct CrewSize {
  int workers = 1;
  int idle = 0;  // processes that hold a context and one allocation, and wait
};

// Forks the crew from a process that has not touched the driver, runs `work` in each worker once
// all are ready, and returns 0 when every process ended well. A member that fails takes the
// others down with it, so that nobody waits for it at a barrier.
int runCrew(CrewSize size, const std::function<void(CrewPages&)>& work);

}  // namespace divvy::bench
