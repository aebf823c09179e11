// How a launch passes both gates: the residency gate and the launch gate.
#pragma once

#include "launch/launch_gate.h"
#include "paging/residency_gate.h"

namespace divvy::interposer {

// enterGate() where memory can be swapped: waits until all memory is resident, then for the grant.
void enterBothGates(const CallWork& work, GatePass& passage);

// To be called after the driver's call, by a thread if its divvy_thread.touching is not 0.
void leaveMemory();

// The scope of a driver call that starts no work but touches memory, made by a thread outside of
// the hooks. In a nested call it does nothing.
class ResidentAccess {
 public:
  ResidentAccess();
  ~ResidentAccess();
  ResidentAccess(const ResidentAccess&) = delete;
  ResidentAccess& operator=(const ResidentAccess&) = delete;

  // Returns CUDA_SUCCESS, or the answer to the call, which must not be made then.
  CUresult refused() const { return refused_; }

 private:
  bool inside_ = false;
  CUresult refused_ = CUDA_SUCCESS;
};

// Lets a thread that passes both gates leave the residency gate while it waits for its grant, so
// that memory can be swapped out meanwhile.
class ResidencyGateRelease {
 public:
  explicit ResidencyGateRelease(ThreadLine* line) : line_(line) {}
  ResidencyGateRelease(const ResidencyGateRelease&) = delete;
  ResidencyGateRelease& operator=(const ResidencyGateRelease&) = delete;

  // Leaves the residency gate. To be called before a wait.
  void leave();
  bool left() const { return left_; }
  // Enters the residency gate again if leave() was effective; waits until memory is resident.
  // Returns false if this thread must not wait; its call must be refused then.
  bool comeBack();

 private:
  ThreadLine* line_;
  bool left_ = false;
};

}  // namespace divvy::interposer
