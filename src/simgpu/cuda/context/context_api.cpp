// cuCtx*: the stack of current contexts, creation and destruction.
#include <algorithm>

#include "cuda/context/api_prologue.h"
#include "cuda/context/context.h"
#include "cuda/context/exec.h"
#include "cuda/context/variant.h"

namespace divvy::simgpu {
namespace {

// CU_CTX_LMEM_RESIZE_TO_MAX: accepted and without effect in all drivers since 11.0.
constexpr unsigned kLocalMemoryResize = 0x10;
constexpr unsigned kKnownFlags = CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | kLocalMemoryResize |
                                 CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE |
                                 CU_CTX_SYNC_MEMOPS;

// At most one of the scheduling flags may be given.
bool validFlags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  return (flags & ~kKnownFlags) == 0 && (schedule & (schedule - 1)) == 0;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice ordinal, unsigned api_version = 3020) {
  if (out == nullptr || !validFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Device* device = findDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = nullptr;
  const CUresult result = makeContext(*device, flags, nullptr, device->profile->sm_count, &context);
  if (result != CUDA_SUCCESS) return result;
  context->api_version = api_version;
  pushContext(context->handle());
  *out = context->handle();
  return CUDA_SUCCESS;
}

// Whole SMs only: the number that the affinity asks for, rounded up as MPS does.
CUresult limitSms(CUcontext handle, const CUexecAffinityParam* params, int count) {
  Context* context = findContext(handle);
  for (int i = 0; i < count; ++i) {
    if (params[i].type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    const int asked = static_cast<int>(params[i].param.smCount.val);
    if (asked <= 0 || asked > context->sm_count) return CUDA_ERROR_INVALID_VALUE;
    context->sm_count = std::min(context->sm_count, (asked + 1) / 2 * 2);
  }
  return CUDA_SUCCESS;
}

CUresult destroy(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = findContext(handle);
  if (context == nullptr || context->isPrimary()) return CUDA_ERROR_INVALID_CONTEXT;
  endContext(context);
  if (currentHandle() == handle) popContext();
  return CUDA_SUCCESS;
}

CUresult push(CUcontext handle) {
  if (findContext(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  pushContext(handle);
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* out) {
  const CUcontext top = popContext();
  if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = top;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuCtxCreate)(CUcontext* out, unsigned flags, CUdevice device) {
  return withDriver(Cu::cuCtxCreate, [&] { return create(out, flags, device, 3010); });
}
SIMGPU_IMPL(cuCtxCreate_v2)(CUcontext* out, unsigned flags, CUdevice device) {
  return withDriver(Cu::cuCtxCreate_v2, [&] { return create(out, flags, device); });
}
SIMGPU_IMPL(cuCtxCreate_v3)
(CUcontext* out, CUexecAffinityParam* params, int count, unsigned flags, CUdevice device) {
  return withDriver(Cu::cuCtxCreate_v3, [&]() -> CUresult {
    if (count < 0 || (count > 0 && params == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = create(out, flags, device);
    if (result != CUDA_SUCCESS) return result;
    const CUresult limited = limitSms(*out, params, count);
    if (limited != CUDA_SUCCESS) destroy(*out);
    return limited;
  });
}
SIMGPU_IMPL(cuCtxCreate_v4)
(CUcontext* out, CUctxCreateParams* params, unsigned flags, CUdevice device) {
  return withDriver(Cu::cuCtxCreate_v4, [&]() -> CUresult {
    if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = create(out, flags, device);
    if (result != CUDA_SUCCESS || params == nullptr) return result;
    const CUresult limited =
        limitSms(*out, params->execAffinityParams, params->numExecAffinityParams);
    if (limited != CUDA_SUCCESS) destroy(*out);
    return limited;
  });
}

SIMGPU_IMPL(cuCtxDestroy)(CUcontext context) {
  return withDriver(Cu::cuCtxDestroy, [&] { return ::cuCtxDestroy_v2(context); });
}
SIMGPU_IMPL(cuCtxDestroy_v2)(CUcontext context) {
  return withDriver(Cu::cuCtxDestroy_v2, [&] { return destroy(context); });
}

SIMGPU_IMPL(cuCtxAttach)(CUcontext* out, unsigned flags) {
  return withContext(Cu::cuCtxAttach, [&](Context& context) -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    ++context.attached;
    *out = context.handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxDetach)(CUcontext handle) {
  return withDriver(Cu::cuCtxDetach, [&]() -> CUresult {
    Context* context = findContext(handle);
    if (context == nullptr || currentHandle() != handle) return CUDA_ERROR_INVALID_CONTEXT;
    return --context->attached > 0 ? CUDA_SUCCESS : destroy(handle);
  });
}

SIMGPU_IMPL(cuCtxPushCurrent)(CUcontext context) {
  return withDriver(Cu::cuCtxPushCurrent, [&] { return push(context); });
}
SIMGPU_IMPL(cuCtxPushCurrent_v2)(CUcontext context) {
  return withDriver(Cu::cuCtxPushCurrent_v2, [&] { return push(context); });
}
SIMGPU_IMPL(cuCtxPopCurrent)(CUcontext* out) {
  return withDriver(Cu::cuCtxPopCurrent, [&] { return pop(out); });
}
SIMGPU_IMPL(cuCtxPopCurrent_v2)(CUcontext* out) {
  return withDriver(Cu::cuCtxPopCurrent_v2, [&] { return pop(out); });
}
SIMGPU_IMPL(cuCtxSetCurrent)(CUcontext context) {
  return withDriver(Cu::cuCtxSetCurrent, [&]() -> CUresult {
    if (context != nullptr && findContext(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    setTopContext(context);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxGetCurrent)(CUcontext* out) {
  return withDriver(Cu::cuCtxGetCurrent, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = currentHandle();
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
