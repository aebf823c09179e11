#include "launch/gate_pair.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

// Requires depth above 0, so that a signal handler's call cannot intervene.
CUresult enterMemory(ThreadLine* line, const CallWork* work) {
  if (divvy_thread.touching == 0) {
    const CUresult result = runtime().memory_gate.enter(line, work);
    if (result != CUDA_SUCCESS) return result;
  }
  ++divvy_thread.touching;
  return CUDA_SUCCESS;
}

}  // namespace

__attribute__((noinline)) void enterBothGates(const CallWork& work, GatePass& passage) {
  divvy_thread.depth = 1;  // a signal handler's launch must not intervene
  if (work.kind == WorkKind::kGraph) runtime().graph_uses.use(work.key);
  passage.refused = enterMemory(divvy_thread.line, &work);
  if (passage.refused == CUDA_SUCCESS) {
    runtime().gate.enter(work, passage);
    if (divvy_thread.touching != 0) return;
    // the process began to exit while it waited for its grant
    passage.refused = CUDA_ERROR_DEINITIALIZED;
  }
  divvy_thread.depth = 0;
}

__attribute__((noinline)) void leaveMemory() {
  if (--divvy_thread.touching == 0) ResidencyGate::leave(divvy_thread.line);
}

ResidentAccess::ResidentAccess() {
  if (divvy_thread.depth != 0 || !runtime().memory_gate.active()) return;
  if (divvy_thread.line == nullptr) takeThreadLine();
  divvy_thread.depth = 1;
  refused_ = enterMemory(divvy_thread.line, nullptr);
  inside_ = refused_ == CUDA_SUCCESS;
  divvy_thread.depth = 0;
}

ResidentAccess::~ResidentAccess() {
  if (inside_) leaveMemory();
}

void ResidencyGateRelease::leave() {
  // A signal handler's call leaves the mark to the interrupted call.
  if (divvy_thread.touching != 1) return;
  left_ = true;
  leaveMemory();
}

bool ResidencyGateRelease::comeBack() {
  if (!left_) return true;
  left_ = false;
  return enterMemory(line_, nullptr) == CUDA_SUCCESS;
}

}  // namespace divvy::interposer
