// Process-local exclusion on the lanes of this process' slot. Not in the file: a dead process
// leaves no lock behind.
#pragma once

#include "account/process_state.h"

namespace divvy::ledger {

inline bool tryHold(ProcessState& state, unsigned lane, std::uint64_t self) {
  std::uint64_t nobody = 0;
  return compareExchange(state.lanes[lane].thread, nobody, self);
}

inline void letGo(ProcessState& state, unsigned lane) {
  storeRelease(state.lanes[lane].thread, std::uint64_t{0});
}

// Holds some lane, the calling thread's usual one if it can. -1 when all are held by frames of this
// very thread (signal handlers upon each other) or stay held by other threads for 100 ms
// of the caller's running time.
int holdAnyLane(ProcessState& state);

// Holds all lanes, in ascending order. False, holding none, under the same conditions.
bool holdAllLanes(ProcessState& state);

}  // namespace divvy::ledger
