// Checkpoints of processes by others, as cuda-checkpoint makes them. Calls halt, work drains, and
// the memory leaves the card; a restore reverses this.
//
//   RUNNING --lock--> LOCKED --checkpoint--> CHECKPOINTED --restore--> LOCKED --unlock--> RUNNING
//
// State and accounts are in the process's records in the card files (card_layout.h). The process
// itself only waits (cuda/context/call_guard.h), and its bytes are in its own memory anyway. A
// caller that ends on the way leaves CHECKPOINTING or RESTORING, which lasts until the process
// ends.
#pragma once

#include "abi/cuda_types.h"

namespace divvy::simgpu {

// All: any thread, after cuInit. CUDA_ERROR_INVALID_VALUE: no such process has a card here.
// CUDA_ERROR_ILLEGAL_STATE: not in this state. CUDA_ERROR_NOT_SUPPORTED: the driver is older than
// 12.8, or it is the `null` card, which has no accounts.

CUresult stateOf(int pid, CUprocessState* out);

// Returns when no call is inside the driver and all work has ended with its effects. `timeout_ms`
// of real time, 0: none; CUDA_ERROR_NOT_READY then, and the process runs on.
CUresult lockProcess(int pid, unsigned timeout_ms);

// CUDA_ERROR_NOT_SUPPORTED, the process stays locked: it has managed memory, or shares some.
// Takes the time of a copy to the host. With the fault checkpoint=fail the process is lost.
CUresult checkpointProcess(int pid);

// CUDA_ERROR_OUT_OF_MEMORY when a card has no room: as on real cards (cuda-checkpoint issue 44), no
// later attempt succeeds then; they answer CUDA_ERROR_OPERATING_SYSTEM.
CUresult restoreProcess(int pid);

CUresult unlockProcess(int pid);

}  // namespace divvy::simgpu
