// cuCtxGet*, cuCtxSet*: properties of a context; primary contexts; peers.
#include "cuda/context/api_prologue.h"
#include "cuda/context/context.h"

namespace divvy::simgpu {
namespace {

// NULL means the current context.
Context* contextOrCurrent(CUcontext handle) {
  return handle == nullptr ? currentContext() : findContext(handle);
}

// Device memory that the driver sets aside for a limit, beyond the context's overhead.
std::uint64_t setAside(const Context& context, CUlimit limit, std::size_t value) {
  const Profile& profile = *context.device().profile;
  const std::uint64_t threads = static_cast<std::uint64_t>(profile.sm_count) *
                                static_cast<std::uint64_t>(profile.threads_per_sm);
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return value > 1024 ? (value - 1024) * threads : 0;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return value > 1 << 20 ? value - (1 << 20) : 0;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return value > 8 << 20 ? value - (8 << 20) : 0;
    default:
      return 0;
  }
}

CUresult supportedLimit(const Context& context, CUlimit limit) {
  if (limit < 0 || limit > CU_LIMIT_PER_BLOCK_MEMORY_SIZE) return CUDA_ERROR_INVALID_VALUE;
  const bool modern = context.device().profile->cc_major >= 9;
  if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && modern) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED ||
      limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED || limit == CU_LIMIT_PER_BLOCK_MEMORY_SIZE) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  return CUDA_SUCCESS;
}

CUresult setLimit(Context& context, CUlimit limit, std::size_t value) {
  if (const CUresult known = supportedLimit(context, limit); known != CUDA_SUCCESS) return known;
  if (limit == CU_LIMIT_STACK_SIZE && value > 512 << 10) return CUDA_ERROR_INVALID_VALUE;
  if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) return CUDA_ERROR_INVALID_VALUE;
  if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && value > 24) return CUDA_ERROR_INVALID_VALUE;
  Card& card = context.device().card;
  const std::uint64_t before = setAside(context, limit, context.limits[limit]);
  const std::uint64_t after = setAside(context, limit, value);
  if (after > before) {
    if (!card.charge(Charge::kModule, after - before)) return CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    card.refund(Charge::kModule, before - after);
  }
  context.limit_bytes += after - before;
  context.limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult getDevice(CUdevice* out, CUcontext handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = contextOrCurrent(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = context->device().ordinal;
  return CUDA_SUCCESS;
}

CUresult setPrimaryFlags(CUdevice ordinal, unsigned flags) {
  Device* device = findDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_MASK) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard guard(device->mutex);
  device->primary_flags = flags;
  if (device->primary != nullptr) device->primary->flags = flags;
  return CUDA_SUCCESS;
}

CUresult withPrimary(CUdevice ordinal, CUresult (*action)(Device&)) {
  Device* device = findDevice(ordinal);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : action(*device);
}

}  // namespace

SIMGPU_IMPL(cuCtxGetDevice)(CUdevice* device) {
  return withContext(Cu::cuCtxGetDevice, [&](Context&) { return getDevice(device, nullptr); });
}
SIMGPU_IMPL(cuCtxGetDevice_v2)(CUdevice* device, CUcontext context) {
  return withDriver(Cu::cuCtxGetDevice_v2, [&] { return getDevice(device, context); });
}
SIMGPU_IMPL(cuCtxGetFlags)(unsigned* flags) {
  return withContext(Cu::cuCtxGetFlags, [&](Context& context) -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = context.flags;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxSetFlags)(unsigned flags) {
  return withContext(Cu::cuCtxSetFlags, [&](Context& context) -> CUresult {
    if ((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_MASK) return CUDA_ERROR_INVALID_VALUE;
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxGetId)(CUcontext handle, unsigned long long* id) {
  return withDriver(Cu::cuCtxGetId, [&]() -> CUresult {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = contextOrCurrent(handle);
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = context->id();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxGetApiVersion)(CUcontext handle, unsigned* version) {
  return withDriver(Cu::cuCtxGetApiVersion, [&]() -> CUresult {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = contextOrCurrent(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *version = context->api_version;
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuCtxSetLimit)(CUlimit limit, size_t value) {
  return withContext(Cu::cuCtxSetLimit,
                     [&](Context& context) { return setLimit(context, limit, value); });
}
SIMGPU_IMPL(cuCtxGetLimit)(size_t* value, CUlimit limit) {
  return withContext(Cu::cuCtxGetLimit, [&](Context& context) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED) {
      *value = 0;
      return CUDA_SUCCESS;
    }
    if (const CUresult known = supportedLimit(context, limit); known != CUDA_SUCCESS) return known;
    *value = context.limits[limit];
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxGetCacheConfig)(CUfunc_cache* config) {
  return withContext(Cu::cuCtxGetCacheConfig, [&](Context& context) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = context.cache_config;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxSetCacheConfig)(CUfunc_cache config) {
  return withContext(Cu::cuCtxSetCacheConfig, [&](Context& context) -> CUresult {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    context.cache_config = config;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxGetSharedMemConfig)(CUsharedconfig* config) {
  return withContext(Cu::cuCtxGetSharedMemConfig, [&](Context& context) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = context.shared_config;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxSetSharedMemConfig)(CUsharedconfig config) {
  return withContext(Cu::cuCtxSetSharedMemConfig, [&](Context& context) {
    context.shared_config = config;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxResetPersistingL2Cache)() {
  return withContext(Cu::cuCtxResetPersistingL2Cache, [](Context&) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuCtxGetExecAffinity)(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  return withContext(Cu::cuCtxGetExecAffinity, [&](Context& context) -> CUresult {
    if (affinity == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    affinity->type = type;
    affinity->param.smCount.val = static_cast<unsigned>(context.sm_count);
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice ordinal) {
  return withDriver(Cu::cuDevicePrimaryCtxRetain, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    Context* context = nullptr;
    const CUresult result = retainPrimary(*device, &context);
    if (result == CUDA_SUCCESS) *out = context->handle();
    return result;
  });
}
SIMGPU_IMPL(cuDevicePrimaryCtxRelease)(CUdevice device) {
  return withDriver(Cu::cuDevicePrimaryCtxRelease,
                    [&] { return withPrimary(device, releasePrimary); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return withDriver(Cu::cuDevicePrimaryCtxRelease_v2,
                    [&] { return withPrimary(device, releasePrimary); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxReset)(CUdevice device) {
  return withDriver(Cu::cuDevicePrimaryCtxReset, [&] { return withPrimary(device, resetPrimary); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  return withDriver(Cu::cuDevicePrimaryCtxReset_v2,
                    [&] { return withPrimary(device, resetPrimary); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxSetFlags)(CUdevice device, unsigned flags) {
  return withDriver(Cu::cuDevicePrimaryCtxSetFlags, [&] { return setPrimaryFlags(device, flags); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxSetFlags_v2)(CUdevice device, unsigned flags) {
  return withDriver(Cu::cuDevicePrimaryCtxSetFlags_v2,
                    [&] { return setPrimaryFlags(device, flags); });
}
SIMGPU_IMPL(cuDevicePrimaryCtxGetState)(CUdevice ordinal, unsigned* flags, int* active) {
  return withDriver(Cu::cuDevicePrimaryCtxGetState, [&]() -> CUresult {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard guard(device->mutex);
    *flags = device->primary_flags;
    *active = device->primary != nullptr && device->primary->alive() ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
