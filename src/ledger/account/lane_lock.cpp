#include "account/lane_lock.h"

#include "process/bounded_wait.h"
#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

unsigned homeLane(std::uint64_t self) {
  return static_cast<unsigned>((self * 0x9e3779b97f4a7c15) >> 62);
}
static_assert(kLanes == 4, "homeLane takes two bits");

int waitForAnyLane(ProcessState& state, std::uint64_t self) {
  const ErrnoKeeper keeper;
  for (BoundedWait patience(kLongestWaitNs);;) {
    bool somebody_else = false;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t holder = loadRelaxed(state.lanes[lane].thread);
      if (holder == 0 && tryHold(state, lane, self)) return static_cast<int>(lane);
      somebody_else = somebody_else || holder != self;
    }
    if (!somebody_else || !patience.wait()) return -1;
  }
}

}  // namespace

int holdAnyLane(ProcessState& state) {
  const std::uint64_t self = threadId();
  const unsigned home = homeLane(self);
  for (unsigned i = 0; i < kLanes; ++i) {
    const unsigned lane = (home + i) % kLanes;
    if (tryHold(state, lane, self)) return static_cast<int>(lane);
  }
  return waitForAnyLane(state, self);
}

bool holdAllLanes(ProcessState& state) {
  const ErrnoKeeper keeper;
  const std::uint64_t self = threadId();
  BoundedWait patience(kLongestWaitNs);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    while (!tryHold(state, lane, self)) {
      if (loadRelaxed(state.lanes[lane].thread) != self && patience.wait()) continue;
      while (lane > 0) releaseLane(state, --lane);
      return false;
    }
  }
  return true;
}

}  // namespace divvy::ledger
