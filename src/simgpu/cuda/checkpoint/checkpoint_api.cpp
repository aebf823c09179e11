// cuCheckpointProcess*. They concern other processes, and work while their own process is locked.
#include <algorithm>
#include <iterator>

#include "cuda/checkpoint/checkpoint.h"
#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

template <typename Body>
CUresult withLockedDriver(Cu id, Body&& body) noexcept {
  return withNothing(id, [&]() -> CUresult {
    const CUresult state = driverReady();
    return state != CUDA_SUCCESS ? state : body();
  });
}

template <typename T, std::size_t count>
bool allZero(const T (&values)[count]) {
  return std::all_of(std::begin(values), std::end(values), [](T value) { return value == 0; });
}

}  // namespace

SIMGPU_IMPL(cuCheckpointProcessGetState)(int pid, CUprocessState* state) {
  return withLockedDriver(Cu::cuCheckpointProcessGetState, [&]() -> CUresult {
    return state == nullptr ? CUDA_ERROR_INVALID_VALUE : stateOf(pid, state);
  });
}

// The caller restores the process; the process itself has its first thread for that.
SIMGPU_IMPL(cuCheckpointProcessGetRestoreThreadId)(int pid, int* tid) {
  return withLockedDriver(Cu::cuCheckpointProcessGetRestoreThreadId, [&]() -> CUresult {
    if (tid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUprocessState state = CU_PROCESS_STATE_RUNNING;
    const CUresult known = stateOf(pid, &state);
    if (known == CUDA_SUCCESS) *tid = pid;
    return known;
  });
}

SIMGPU_IMPL(cuCheckpointProcessLock)(int pid, CUcheckpointLockArgs* args) {
  return withLockedDriver(Cu::cuCheckpointProcessLock, [&]() -> CUresult {
    if (args != nullptr && (args->reserved0 != 0 || !allZero(args->reserved1))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return lockProcess(pid, args == nullptr ? 0 : args->timeoutMs);
  });
}

// The caller's own storage came with CUDA 13.4 and is not simulated.
SIMGPU_IMPL(cuCheckpointProcessCheckpoint)(int pid, CUcheckpointCheckpointArgs* args) {
  return withLockedDriver(Cu::cuCheckpointProcessCheckpoint, [&]() -> CUresult {
    if (args != nullptr && !allZero(args->reserved)) return CUDA_ERROR_INVALID_VALUE;
    if (args != nullptr && args->customStorageInfo_out != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return checkpointProcess(pid);
  });
}

// Restores only to the cards that the memory came from.
SIMGPU_IMPL(cuCheckpointProcessRestore)(int pid, CUcheckpointRestoreArgs* args) {
  return withLockedDriver(Cu::cuCheckpointProcessRestore, [&]() -> CUresult {
    if (args != nullptr && (args->padding0 != 0 || !allZero(args->reserved))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (args != nullptr && (args->gpuPairsCount != 0 || args->customStorageInfo_out != nullptr)) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    return restoreProcess(pid);
  });
}

SIMGPU_IMPL(cuCheckpointProcessUnlock)(int pid, CUcheckpointUnlockArgs* args) {
  return withLockedDriver(Cu::cuCheckpointProcessUnlock, [&]() -> CUresult {
    if (args != nullptr && !allZero(args->reserved)) return CUDA_ERROR_INVALID_VALUE;
    return unlockProcess(pid);
  });
}

}  // namespace divvy::simgpu
