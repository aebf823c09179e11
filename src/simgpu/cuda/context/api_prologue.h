// How every exported entry point begins: faults on demand, driver state, current context.
//
//   SIMGPU_IMPL(cuMemAlloc_v2)(CUdeviceptr* address, size_t bytes) {
//     return withContext(Cu::cuMemAlloc_v2, [&](Context& context) { ... });
//   }
#pragma once

#include <new>

#include "abi/cuda_ids.h"
#include "abi/cuda_types.h"
#include "cuda/context/call_guard.h"
#include "cuda/context/context.h"
#include "cuda/context/faults.h"
#include "cuda/context/runtime.h"
#include "simgpu/cuda_impls.h"

namespace divvy::simgpu {

using abi::Cu;

// Faults that strike at any call. Out of line: only when some were asked for.
CUresult faultsBefore(Cu id);
// CUDA_SUCCESS when cuInit succeeded in this process and not in its parent; else the real driver's
// error. Also answers for a card that has fallen off the bus.
CUresult driverReady();
// The calling thread's context: CUDA_ERROR_INVALID_CONTEXT without one,
// CUDA_ERROR_CONTEXT_IS_DESTROYED for a dead one, the sticky error of a poisoned one.
CUresult usableContext(Context** out);

// Calls that work before cuInit.
template <typename Body>
CUresult withNothing(Cu id, Body&& body) noexcept {
  if (Faults::get().armed()) {
    if (const CUresult fault = faultsBefore(id); fault != CUDA_SUCCESS) return fault;
  }
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Calls that need cuInit but no context.
template <typename Body>
CUresult withDriver(Cu id, Body&& body) noexcept {
  return withNothing(id, [&]() -> CUresult {
    if (const CUresult state = driverReady(); state != CUDA_SUCCESS) return state;
    const CallMark mark;
    return body();
  });
}

// Calls that need a current, healthy context.
template <typename Body>
CUresult withContext(Cu id, Body&& body) noexcept {
  return withDriver(id, [&]() -> CUresult {
    Context* context = nullptr;
    if (const CUresult state = usableContext(&context); state != CUDA_SUCCESS) return state;
    return body(*context);
  });
}

}  // namespace divvy::simgpu
