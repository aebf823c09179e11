// Green contexts: parts of a device's SMs as contexts of their own.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/context/api_prologue.h"

// The target of a CUdevResourceDesc. Never freed, because the interface has no call for it.
struct CUdevResourceDesc_st {
  unsigned sm_count;
};

// The target of a CUgreenCtx.
struct CUgreenCtx_st {
  divvy::simgpu::Device* device;
  divvy::simgpu::Context* context;
};

namespace divvy::simgpu {
namespace {

struct GreenContexts {
  std::mutex mutex;
  std::map<CUgreenCtx, std::unique_ptr<CUgreenCtx_st>> live;
};

GreenContexts& greens() {
  static GreenContexts* const all = new GreenContexts;
  return *all;
}

CUgreenCtx_st* findGreen(CUgreenCtx handle) {
  const std::lock_guard guard(greens().mutex);
  const auto found = greens().live.find(handle);
  return found == greens().live.end() ? nullptr : found->second.get();
}

// Partitions come in these steps: pairs of SMs, groups of eight where clusters exist.
unsigned smStep(const Profile& profile) {
  return profile.cc_major >= 9 ? 8 : 2;
}

CUresult smResource(const Profile& profile, unsigned count, CUdevResourceType type,
                    CUdevResource* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *out = {};
  out->type = type;
  out->sm.smCount = count;
  out->sm.minSmPartitionSize = smStep(profile);
  out->sm.smCoscheduledAlignment = smStep(profile);
  return CUDA_SUCCESS;
}

CUresult split(CUdevResource* result, unsigned* groups, const CUdevResource* input,
               CUdevResource* rest, unsigned least) {
  if (groups == nullptr || input == nullptr || input->type != CU_DEV_RESOURCE_TYPE_SM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned step = std::max(1U, input->sm.minSmPartitionSize);
  const unsigned size = std::max(step, (least + step - 1) / step * step);
  const unsigned possible = input->sm.smCount / size;
  if (result == nullptr) {
    *groups = possible;
    return CUDA_SUCCESS;
  }
  if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  *groups = std::min(*groups, possible);
  for (unsigned i = 0; i < *groups; ++i) {
    result[i] = *input;
    result[i].sm.smCount = size;
  }
  if (rest != nullptr) {
    *rest = *input;
    rest->sm.smCount = input->sm.smCount - *groups * size;
    if (rest->sm.smCount == 0) rest->type = CU_DEV_RESOURCE_TYPE_INVALID;
  }
  return CUDA_SUCCESS;
}

CUresult makeGreen(CUgreenCtx* out, CUdevResourceDesc desc, CUdevice ordinal, unsigned flags) {
  if (out == nullptr || desc == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* device = findDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (static_cast<int>(desc->sm_count) > device->profile->sm_count) return CUDA_ERROR_INVALID_VALUE;
  // The primary context stays as long as parts of it are in use.
  Context* primary = nullptr;
  CUresult result = retainPrimary(*device, &primary);
  if (result != CUDA_SUCCESS) return result;
  auto green = std::make_unique<CUgreenCtx_st>();
  green->device = device;
  result = makeContext(*device, 0, green.get(), static_cast<int>(desc->sm_count), &green->context);
  if (result != CUDA_SUCCESS) {
    releasePrimary(*device);
    return result;
  }
  *out = green.get();
  const std::lock_guard guard(greens().mutex);
  greens().live.emplace(green.get(), std::move(green));
  return CUDA_SUCCESS;
}

CUresult destroyGreen(CUgreenCtx handle) {
  std::unique_ptr<CUgreenCtx_st> green;
  {
    const std::lock_guard guard(greens().mutex);
    const auto found = greens().live.find(handle);
    if (found == greens().live.end()) return CUDA_ERROR_INVALID_HANDLE;
    green = std::move(found->second);
    greens().live.erase(found);
  }
  endContext(green->context);
  return releasePrimary(*green->device);
}

// Runs `body` on a live green context.
template <typename Body>
CUresult onGreen(Cu id, CUgreenCtx handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    CUgreenCtx_st* green = findGreen(handle);
    return green == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*green);
  });
}

CUresult streamResource(Cu id, CUstream stream, CUdevResource* out, CUdevResourceType type) {
  return withContext(id, [&](Context&) -> CUresult {
    CUcontext handle = nullptr;
    if (const CUresult got = sim_cuStreamGetCtx(stream, &handle); got != CUDA_SUCCESS) return got;
    const Context* context = findContext(handle);
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return smResource(*context->device().profile, static_cast<unsigned>(context->sm_count), type,
                      out);
  });
}

}  // namespace

SIMGPU_IMPL(cuDeviceGetDevResource)(CUdevice ordinal, CUdevResource* out, CUdevResourceType type) {
  return withDriver(Cu::cuDeviceGetDevResource, [&]() -> CUresult {
    const Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return smResource(*device->profile, static_cast<unsigned>(device->profile->sm_count), type,
                      out);
  });
}
SIMGPU_IMPL(cuCtxGetDevResource)(CUcontext handle, CUdevResource* out, CUdevResourceType type) {
  return withDriver(Cu::cuCtxGetDevResource, [&]() -> CUresult {
    const Context* context = handle == nullptr ? currentContext() : findContext(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return smResource(*context->device().profile, static_cast<unsigned>(context->sm_count), type,
                      out);
  });
}
SIMGPU_IMPL(cuGreenCtxGetDevResource)
(CUgreenCtx handle, CUdevResource* out, CUdevResourceType type) {
  return onGreen(Cu::cuGreenCtxGetDevResource, handle, [&](CUgreenCtx_st& green) {
    return smResource(*green.device->profile, static_cast<unsigned>(green.context->sm_count), type,
                      out);
  });
}
SIMGPU_IMPL(cuStreamGetDevResource)(CUstream stream, CUdevResource* out, CUdevResourceType type) {
  return streamResource(Cu::cuStreamGetDevResource, stream, out, type);
}
SIMGPU_IMPL(cuStreamGetDevResource_ptsz)
(CUstream stream, CUdevResource* out, CUdevResourceType type) {
  return streamResource(Cu::cuStreamGetDevResource_ptsz, stream, out, type);
}
SIMGPU_IMPL(cuDevSmResourceSplitByCount)
(CUdevResource* result, unsigned* groups, const CUdevResource* input, CUdevResource* rest, unsigned,
 unsigned least) {
  return withDriver(Cu::cuDevSmResourceSplitByCount,
                    [&] { return split(result, groups, input, rest, least); });
}
SIMGPU_IMPL(cuDevResourceGenerateDesc)
(CUdevResourceDesc* out, CUdevResource* resources, unsigned count) {
  return withDriver(Cu::cuDevResourceGenerateDesc, [&]() -> CUresult {
    if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    unsigned total = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      total += resources[i].sm.smCount;
    }
    if (total == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *out = new CUdevResourceDesc_st{total};
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuGreenCtxCreate)
(CUgreenCtx* out, CUdevResourceDesc desc, CUdevice device, unsigned flags) {
  return withDriver(Cu::cuGreenCtxCreate, [&] { return makeGreen(out, desc, device, flags); });
}
SIMGPU_IMPL(cuGreenCtxDestroy)(CUgreenCtx handle) {
  return withDriver(Cu::cuGreenCtxDestroy, [&] { return destroyGreen(handle); });
}
SIMGPU_IMPL(cuCtxFromGreenCtx)(CUcontext* out, CUgreenCtx handle) {
  return onGreen(Cu::cuCtxFromGreenCtx, handle, [&](CUgreenCtx_st& green) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = green.context->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGreenCtxGetId)(CUgreenCtx handle, unsigned long long* id) {
  return onGreen(Cu::cuGreenCtxGetId, handle, [&](CUgreenCtx_st& green) -> CUresult {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = green.context->id();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGreenCtxRecordEvent)(CUgreenCtx handle, CUevent event) {
  return onGreen(Cu::cuGreenCtxRecordEvent, handle, [&](CUgreenCtx_st& green) {
    return sim_cuCtxRecordEvent(green.context->handle(), event);
  });
}
SIMGPU_IMPL(cuGreenCtxWaitEvent)(CUgreenCtx handle, CUevent event) {
  return onGreen(Cu::cuGreenCtxWaitEvent, handle, [&](CUgreenCtx_st& green) {
    return sim_cuCtxWaitEvent(green.context->handle(), event);
  });
}
SIMGPU_IMPL(cuGreenCtxStreamCreate)
(CUstream* stream, CUgreenCtx handle, unsigned flags, int priority) {
  return onGreen(Cu::cuGreenCtxStreamCreate, handle, [&](CUgreenCtx_st& green) -> CUresult {
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    pushContext(green.context->handle());
    const CUresult result = sim_cuStreamCreateWithPriority(stream, flags, priority);
    popContext();
    return result;
  });
}
SIMGPU_IMPL(cuStreamGetGreenCtx)(CUstream stream, CUgreenCtx* out) {
  return withContext(Cu::cuStreamGetGreenCtx, [&](Context&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUcontext handle = nullptr;
    if (const CUresult got = sim_cuStreamGetCtx(stream, &handle); got != CUDA_SUCCESS) return got;
    const Context* context = findContext(handle);
    *out = context == nullptr ? nullptr : context->green;
    return CUDA_SUCCESS;
  });
}

// Profiling is not simulated; the calls that bracket it are accepted.
SIMGPU_IMPL(cuProfilerStart)() {
  return withContext(Cu::cuProfilerStart, [](Context&) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuProfilerStop)() {
  return withContext(Cu::cuProfilerStop, [](Context&) { return CUDA_SUCCESS; });
}

}  // namespace divvy::simgpu
