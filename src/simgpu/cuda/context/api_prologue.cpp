#include "cuda/context/api_prologue.h"

#include "abi/cuda_entries.h"
#include "cuda/context/exec.h"

namespace divvy::simgpu {

CUresult faultsBefore(Cu id) {
  return Faults::get().beforeCall(abi::kCuEntries[static_cast<std::size_t>(id)].symbol);
}

CUresult driverReady() {
  Runtime& runtime = Runtime::get();
  if (runtime.state() != DriverState::kReady) return CUDA_ERROR_NOT_INITIALIZED;
  if (Faults::get().armed() && Faults::get().lost()) return CUDA_ERROR_UNKNOWN;
  if (exec::inHostFunction()) return CUDA_ERROR_NOT_PERMITTED;
  return CUDA_SUCCESS;
}

CUresult usableContext(Context** out) {
  Context* context = currentContext();
  if (context == nullptr) {
    return currentHandle() == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                      : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  *out = context;
  if (context->device().card.lost()) return CUDA_ERROR_UNKNOWN;
  return context->sticky();
}

}  // namespace divvy::simgpu
