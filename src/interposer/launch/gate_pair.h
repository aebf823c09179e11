// How a launch passes two gates: that of memory and that of its grant.
#pragma once

#include "launch/launch_gate.h"
#include "paging/residency_gate.h"

namespace divvy::interposer {

// enterGate where memory can be swapped: waits until all of it is there, then for the grant.
void enterBothGates(const CallWork& work, GatePass& passage);

// After the call of a thread whose divvy_thread.touching is not 0.
void leaveMemory();

// The scope of a driver's call that starts no work but looks at memory, in a thread that is inside
// nothing; or that is nested, then this does nothing.
class ResidentAccess {
 public:
  ResidentAccess();
  ~ResidentAccess();
  ResidentAccess(const ResidentAccess&) = delete;
  ResidentAccess& operator=(const ResidentAccess&) = delete;

  // What the call is to be answered with instead of being made, or CUDA_SUCCESS.
  CUresult refused() const { return refused_; }

 private:
  bool inside_ = false;
  CUresult refused_ = CUDA_SUCCESS;
};

// A thread on its way through both gates that may have to wait for its grant: meanwhile it is
// inside nothing, and memory may leave.
class ResidencyGateRelease {
 public:
  explicit ResidencyGateRelease(ThreadLine* line) : line_(line) {}
  ResidencyGateRelease(const ResidencyGateRelease&) = delete;
  ResidencyGateRelease& operator=(const ResidencyGateRelease&) = delete;

  // Before a wait.
  void leave();
  bool left() const { return left_; }
  // Waits until memory is there again, if leave() was called. False: this thread must not, and its
  // call has to be refused.
  bool comeBack();

 private:
  ThreadLine* line_;
  bool left_ = false;
};

}  // namespace divvy::interposer
