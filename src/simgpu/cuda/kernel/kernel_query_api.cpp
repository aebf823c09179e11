// Entry points that query kernels: attributes, parameters, occupancy.
#include <algorithm>

#include "cuda/context/api_prologue.h"
#include "cuda/kernel/launch.h"
#include "cuda/kernel/module.h"

namespace divvy::simgpu {
namespace {

CUresult attributeOf(const Profile& profile, const KernelCode& code, const FunctionSettings& now,
                     CUfunction_attribute attribute, int* out) {
  const int capability = profile.cc_major * 10 + profile.cc_minor;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = code.max_threads;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *out = code.static_shared_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *out = code.constant_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *out = code.local_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *out = code.registers;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *out = code.ptx_target != 0 ? code.ptx_target : capability;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = capability;
      break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *out = 0;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *out = now.max_dynamic_shared;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *out = now.shared_carveout;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      *out = now.cluster_required;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      *out = now.cluster[0];
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      *out = now.cluster[1];
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *out = now.cluster[2];
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *out = now.non_portable_cluster;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *out = now.cluster_policy;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult setAttributeOf(const Profile& profile, const KernelCode& code, FunctionSettings* now,
                        CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value + code.static_shared_bytes > profile.shared_per_block) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      now->max_dynamic_shared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      now->shared_carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      now->cluster[0] = value;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      now->cluster[1] = value;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      now->cluster[2] = value;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      now->non_portable_cluster = value;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      now->cluster_policy = value;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return value < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

template <typename Body>
CUresult withFunction(Cu id, CUfunction handle, Body&& body) {
  return withContext(id, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    return known != CUDA_SUCCESS ? known : body(context, *function);
  });
}

template <typename Body>
CUresult withKernel(Cu id, CUkernel handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    Kernel* kernel = KernelHandles::get().find(handle);
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*kernel);
  });
}

CUresult paramInfo(const KernelCode& code, std::size_t index, std::size_t* offset,
                   std::size_t* size) {
  if (index >= code.params.size() || offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *offset = code.params[index].offset;
  if (size != nullptr) *size = code.params[index].size;
  return CUDA_SUCCESS;
}

// The block size with most threads resident; the smaller one wins a tie only if larger ones lose.
CUresult bestBlock(Context& context, const Function& function, CUoccupancyB2DSize shared_of,
                   std::size_t shared, int limit, int* grid, int* block) {
  const Profile& profile = *context.device().profile;
  int best_threads = 0;
  for (int threads = limit; threads > 0; threads -= 32) {
    const std::size_t dynamic = shared_of != nullptr ? shared_of(threads) : shared;
    const int blocks = blocksPerMultiprocessor(profile, *function.code, threads, dynamic);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    *block = threads;
    *grid = blocks * context.sm_count;
  }
  return best_threads == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult activeBlocks(Cu id, int* out, CUfunction f, int threads, std::size_t shared) {
  return withFunction(id, f, [&](Context& context, Function& function) -> CUresult {
    if (out == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    *out = blocksPerMultiprocessor(*context.device().profile, *function.code, threads, shared);
    return CUDA_SUCCESS;
  });
}

CUresult potentialBlock(Cu id, int* grid, int* block, CUfunction f, CUoccupancyB2DSize shared_of,
                        std::size_t shared, int limit) {
  return withFunction(id, f, [&](Context& context, Function& function) -> CUresult {
    if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    const int most = function.code->max_threads;
    return bestBlock(context, function, shared_of, shared,
                     limit == 0 ? most : std::min(limit, most), grid, block);
  });
}

CUresult clusterShape(const CUlaunchConfig* config, unsigned* size) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *size = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = config->attrs[i].value.clusterDim;
    *size = cluster.x * cluster.y * cluster.z;
  }
  return *size == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuFuncGetAttribute)(int* out, CUfunction_attribute attribute, CUfunction f) {
  return withFunction(Cu::cuFuncGetAttribute, f, [&](Context& c, Function& function) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return attributeOf(*c.device().profile, *function.code, function.settings, attribute, out);
  });
}
SIMGPU_IMPL(cuFuncSetAttribute)(CUfunction f, CUfunction_attribute attribute, int value) {
  return withFunction(Cu::cuFuncSetAttribute, f, [&](Context& c, Function& function) {
    return setAttributeOf(*c.device().profile, *function.code, &function.settings, attribute,
                          value);
  });
}
SIMGPU_IMPL(cuFuncSetCacheConfig)(CUfunction f, CUfunc_cache) {
  return withFunction(Cu::cuFuncSetCacheConfig, f,
                      [](Context&, Function&) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuFuncSetSharedMemConfig)(CUfunction f, CUsharedconfig) {
  return withFunction(Cu::cuFuncSetSharedMemConfig, f,
                      [](Context&, Function&) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuFuncGetModule)(CUmodule* out, CUfunction f) {
  return withFunction(Cu::cuFuncGetModule, f, [&](Context&, Function& function) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = function.module->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFuncGetName)(const char** out, CUfunction f) {
  if (f == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return withFunction(Cu::cuFuncGetName, f, [&](Context&, Function& function) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = function.code->name.c_str();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFuncGetParamInfo)
(CUfunction f, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (f == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return withFunction(Cu::cuFuncGetParamInfo, f, [&](Context&, Function& function) {
    return paramInfo(*function.code, index, offset, size);
  });
}
SIMGPU_IMPL(cuFuncGetParamCount)(CUfunction f, std::size_t* out) {
  return withFunction(Cu::cuFuncGetParamCount, f, [&](Context&, Function& function) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = function.code->params.size();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFuncIsLoaded)(CUfunctionLoadingState* out, CUfunction f) {
  return withFunction(Cu::cuFuncIsLoaded, f, [&](Context&, Function&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFuncLoad)(CUfunction f) {
  return withFunction(Cu::cuFuncLoad, f, [](Context&, Function&) { return CUDA_SUCCESS; });
}

SIMGPU_IMPL(cuKernelGetAttribute)
(int* out, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal) {
  return withKernel(Cu::cuKernelGetAttribute, handle, [&](Kernel& kernel) -> CUresult {
    const Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return attributeOf(*device->profile, *kernel.code, kernel.settings, attribute, out);
  });
}
SIMGPU_IMPL(cuKernelSetAttribute)
(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice ordinal) {
  return withKernel(Cu::cuKernelSetAttribute, handle, [&](Kernel& kernel) -> CUresult {
    const Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return setAttributeOf(*device->profile, *kernel.code, &kernel.settings, attribute, value);
  });
}
SIMGPU_IMPL(cuKernelSetCacheConfig)(CUkernel handle, CUfunc_cache, CUdevice) {
  return withKernel(Cu::cuKernelSetCacheConfig, handle, [](Kernel&) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuKernelGetName)(const char** out, CUkernel handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return withKernel(Cu::cuKernelGetName, handle, [&](Kernel& kernel) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = kernel.code->name.c_str();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuKernelGetParamInfo)
(CUkernel handle, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return withKernel(Cu::cuKernelGetParamInfo, handle,
                    [&](Kernel& kernel) { return paramInfo(*kernel.code, index, offset, size); });
}
SIMGPU_IMPL(cuKernelGetParamCount)(CUkernel handle, std::size_t* out) {
  return withKernel(Cu::cuKernelGetParamCount, handle, [&](Kernel& kernel) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = kernel.code->params.size();
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int* out, CUfunction f, int threads, std::size_t shared) {
  return activeBlocks(Cu::cuOccupancyMaxActiveBlocksPerMultiprocessor, out, f, threads, shared);
}
SIMGPU_IMPL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(int* out, CUfunction f, int threads, std::size_t shared, unsigned) {
  return activeBlocks(Cu::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, out, f, threads,
                      shared);
}
SIMGPU_IMPL(cuOccupancyMaxPotentialBlockSize)
(int* grid, int* block, CUfunction f, CUoccupancyB2DSize shared_of, std::size_t shared, int limit) {
  return potentialBlock(Cu::cuOccupancyMaxPotentialBlockSize, grid, block, f, shared_of, shared,
                        limit);
}
SIMGPU_IMPL(cuOccupancyMaxPotentialBlockSizeWithFlags)
(int* grid, int* block, CUfunction f, CUoccupancyB2DSize shared_of, std::size_t shared, int limit,
 unsigned) {
  return potentialBlock(Cu::cuOccupancyMaxPotentialBlockSizeWithFlags, grid, block, f, shared_of,
                        shared, limit);
}
SIMGPU_IMPL(cuOccupancyAvailableDynamicSMemPerBlock)
(std::size_t* out, CUfunction f, int blocks, int threads) {
  return withFunction(Cu::cuOccupancyAvailableDynamicSMemPerBlock, f,
                      [&](Context& context, Function& function) -> CUresult {
                        if (out == nullptr || blocks <= 0 || threads <= 0)
                          return CUDA_ERROR_INVALID_VALUE;
                        const Profile& profile = *context.device().profile;
                        if (blocksPerMultiprocessor(profile, *function.code, threads, 0) < blocks) {
                          return CUDA_ERROR_INVALID_VALUE;
                        }
                        const int share = profile.shared_per_sm / blocks - 1024;
                        *out = static_cast<std::size_t>(std::min(share, profile.shared_per_block) -
                                                        function.code->static_shared_bytes);
                        return CUDA_SUCCESS;
                      });
}
SIMGPU_IMPL(cuOccupancyMaxPotentialClusterSize)
(int* out, CUfunction f, const CUlaunchConfig* config) {
  return withFunction(Cu::cuOccupancyMaxPotentialClusterSize, f,
                      [&](Context& context, Function& function) -> CUresult {
                        if (out == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
                        if (context.device().profile->cc_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
                        *out = function.settings.non_portable_cluster != 0 ? 16 : 8;
                        return CUDA_SUCCESS;
                      });
}
SIMGPU_IMPL(cuOccupancyMaxActiveClusters)
(int* out, CUfunction f, const CUlaunchConfig* config) {
  return withFunction(
      Cu::cuOccupancyMaxActiveClusters, f, [&](Context& context, Function& function) -> CUresult {
        unsigned size = 1;
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult shape = clusterShape(config, &size);
        if (shape != CUDA_SUCCESS) return shape;
        const Profile& profile = *context.device().profile;
        if (profile.cc_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
        const auto threads = config->blockDimX * config->blockDimY * config->blockDimZ;
        const int blocks = blocksPerMultiprocessor(
            profile, *function.code, static_cast<int>(threads), config->sharedMemBytes);
        *out = blocks * context.sm_count / static_cast<int>(size);
        return CUDA_SUCCESS;
      });
}

}  // namespace divvy::simgpu
