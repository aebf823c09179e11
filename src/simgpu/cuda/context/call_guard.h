// A call of this process inside the driver. While there is one, the process cannot be checkpointed;
// while it is locked for a checkpoint, calls wait.
#pragma once

#include "card/card_layout.h"

namespace divvy::simgpu {

class CallMark {
 public:
  // Calls count and wait from now on, in the record of this process on the first of its cards.
  // Called by cuInit, once; without it they cost a load.
  static void countIn(CheckpointRecord& record);

  // Waits while the process is locked. Calls within calls belong to the outer one.
  CallMark();
  ~CallMark();
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

 private:
  CheckpointRecord* const record_;
};

// Lets the calls of a process go on after its state was changed.
void resumeCalls(CheckpointRecord& record);

}  // namespace divvy::simgpu
