// Process-local exclusion on the lanes of this process's slot. Not in the file, so a dead process
// leaves no lock behind.
#pragma once

#include "account/process_state.h"

namespace divvy::ledger {

inline bool tryHold(ProcessState& state, unsigned lane, std::uint64_t self) {
  std::uint64_t nobody = 0;
  return compareExchange(state.lanes[lane].thread, nobody, self);
}

inline void releaseLane(ProcessState& state, unsigned lane) {
  storeRelease(state.lanes[lane].thread, std::uint64_t{0});
}

// Holds a lane, preferably the calling thread's usual lane, and returns its number. Returns -1 if
// frames of the same thread (nested signal handlers) hold all lanes. Also if other threads hold
// them for 100 ms of the caller's running time.
int holdAnyLane(ProcessState& state);

// Holds all lanes, in ascending order. Returns false, holding none, if a lane is held by the same
// thread or stays held for 100 ms of the caller's running time.
bool holdAllLanes(ProcessState& state);

}  // namespace divvy::ledger
