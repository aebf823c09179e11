// From launch calls to operations.
#pragma once

#include "abi/cuda_types.h"

#include "cuda/kernel/module.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {

// Checks a launch as the driver does and copies its parameters, from `params` (one pointer each) or
// `extra` (one packed buffer). `function` may be a kernel. Nothing is put anywhere yet.
CUresult makeKernelOp(ExecContext& exec, CUfunction function, const LaunchShape& shape,
                      void** params, void** extra, KernelOp* out);
// Whether all blocks can be on the card at once, as cooperative launches demand.
CUresult checkCooperative(ExecContext& exec, const KernelOp& op);

// How many blocks of a kernel one multiprocessor holds.
int blocksPerMultiprocessor(const Profile& profile, const KernelCode& code, int threads,
                            std::size_t dynamic_shared);

}  // namespace divvy::simgpu
