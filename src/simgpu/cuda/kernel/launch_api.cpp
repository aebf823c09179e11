// Entry points that launch kernels.
#include "cuda/context/api_prologue.h"
#include "cuda/kernel/launch.h"
#include "cuda/stream/event.h"
#include "cuda/stream/stream.h"

namespace divvy::simgpu {
namespace {

struct LaunchCall {
  CUfunction function;
  LaunchShape shape;
  StreamArgument stream;
  void** params;
  void** extra;
  bool cooperative = false;
  const CUlaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// Applies the attributes of an extended launch to the operation. Returns the event to record after
// it, if any, in `behind`.
CUresult applyAttributes(const LaunchCall& call, KernelOp* op, CUevent* behind) {
  if (call.attribute_count != 0 && call.attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < call.attribute_count; ++i) {
    const CUlaunchAttributeValue& value = call.attributes[i].value;
    switch (call.attributes[i].id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        op->cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        op->priority = std::clamp(value.priority, kMaxUrgent, kMinUrgent);
        op->has_priority = true;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const Dim3& grid = op->call.shape.grid;
        const auto& cluster = value.clusterDim;
        if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || grid.x % cluster.x != 0 ||
            grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        *behind = value.programmaticEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        *behind = value.launchCompletionEvent.event;
        break;
      default:
        break;  // hints without an effect here
    }
  }
  op->attributes.assign(call.attributes, call.attributes + call.attribute_count);
  return CUDA_SUCCESS;
}

CUresult launchIn(Context& context, const LaunchCall& call) {
  Stream* stream = nullptr;
  CUresult result = findStream(context, call.stream, &stream);
  if (result != CUDA_SUCCESS) return result;
  KernelOp op;
  op.cooperative = call.cooperative;
  result = makeKernelOp(stream->exec, call.function, call.shape, call.params, call.extra, &op);
  CUevent behind = nullptr;
  if (result == CUDA_SUCCESS) result = applyAttributes(call, &op, &behind);
  if (result == CUDA_SUCCESS && op.cooperative) result = checkCooperative(stream->exec, op);
  if (result == CUDA_SUCCESS) result = submit(*stream, std::move(op));
  if (result == CUDA_SUCCESS && behind != nullptr) {
    result = submit(*stream, EventRecordOp{behind});
  }
  return result;
}

CUresult launch(Cu id, const LaunchCall& call) {
  return withContext(id, [&](Context& context) {
    const CUresult struck = Faults::get().armed() ? Faults::get().strike(context) : CUDA_SUCCESS;
    return struck != CUDA_SUCCESS ? struck : launchIn(context, call);
  });
}

CUresult launchEx(Cu id, const CUlaunchConfig* config, CUfunction f, void** params, void** extra,
                  bool per_thread) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch(id, {.function = f,
                     .shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                               {config->blockDimX, config->blockDimY, config->blockDimZ},
                               config->sharedMemBytes},
                     .stream = {config->hStream, per_thread},
                     .params = params,
                     .extra = extra,
                     .attributes = config->attrs,
                     .attribute_count = config->numAttrs});
}

// The calls from before CUDA 4: everything was set on the function beforehand.
CUresult launchLegacy(Cu id, CUfunction handle, int width, int height, CUstream stream,
                      bool per_thread) {
  return withContext(id, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    if (known != CUDA_SUCCESS) return known;
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    FunctionSettings& settings = function->settings;
    settings.params.resize(function->code->paramBytes());
    std::size_t size = settings.params.size();
    void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), settings.params.data(),
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &size,
                     reinterpret_cast<void*>(kLaunchParamEnd)};
    const bool none = function->code->params.empty();
    return launchIn(context,
                    {.function = handle,
                     .shape = {{static_cast<unsigned>(width), static_cast<unsigned>(height), 1},
                               settings.block,
                               settings.shared_bytes},
                     .stream = {stream, per_thread},
                     .params = nullptr,
                     .extra = none ? nullptr : extra});
  });
}

CUresult setParam(Cu id, CUfunction handle, int offset, const void* value, std::size_t bytes) {
  return withContext(id, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    if (known != CUDA_SUCCESS) return known;
    std::vector<std::byte>& params = function->settings.params;
    params.resize(function->code->paramBytes());
    const auto at = static_cast<std::size_t>(offset);
    if (offset < 0 || value == nullptr || at > params.size() || bytes > params.size() - at) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(params.data() + at, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launchMany(CUDA_LAUNCH_PARAMS* list, unsigned count) {
  return withContext(Cu::cuLaunchCooperativeKernelMultiDevice, [&](Context&) -> CUresult {
    if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      const CUDA_LAUNCH_PARAMS& one = list[i];
      Stream* stream = StreamHandles::get().find(one.hStream);
      if (stream == nullptr) return CUDA_ERROR_INVALID_VALUE;  // default streams are not allowed
      const CUresult launched =
          launchIn(stream->exec.context, {.function = one.function,
                                          .shape = {{one.gridDimX, one.gridDimY, one.gridDimZ},
                                                    {one.blockDimX, one.blockDimY, one.blockDimZ},
                                                    one.sharedMemBytes},
                                          .stream = {one.hStream, false},
                                          .params = one.kernelParams,
                                          .extra = nullptr,
                                          .cooperative = true});
      if (launched != CUDA_SUCCESS) return launched;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(cuLaunchKernel)
(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
 unsigned shared, CUstream s, void** params, void** extra) {
  return launch(Cu::cuLaunchKernel,
                {f, {{gx, gy, gz}, {bx, by, bz}, shared}, {s, false}, params, extra});
}
SIMGPU_IMPL(cuLaunchKernel_ptsz)
(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
 unsigned shared, CUstream s, void** params, void** extra) {
  return launch(Cu::cuLaunchKernel_ptsz,
                {f, {{gx, gy, gz}, {bx, by, bz}, shared}, {s, true}, params, extra});
}
SIMGPU_IMPL(cuLaunchKernelEx)
(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  return launchEx(Cu::cuLaunchKernelEx, config, f, params, extra, false);
}
SIMGPU_IMPL(cuLaunchKernelEx_ptsz)
(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  return launchEx(Cu::cuLaunchKernelEx_ptsz, config, f, params, extra, true);
}
SIMGPU_IMPL(cuLaunchCooperativeKernel)
(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
 unsigned shared, CUstream s, void** params) {
  return launch(Cu::cuLaunchCooperativeKernel,
                {f, {{gx, gy, gz}, {bx, by, bz}, shared}, {s, false}, params, nullptr, true});
}
SIMGPU_IMPL(cuLaunchCooperativeKernel_ptsz)
(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
 unsigned shared, CUstream s, void** params) {
  return launch(Cu::cuLaunchCooperativeKernel_ptsz,
                {f, {{gx, gy, gz}, {bx, by, bz}, shared}, {s, true}, params, nullptr, true});
}
SIMGPU_IMPL(cuLaunchCooperativeKernelMultiDevice)
(CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned) {
  return launchMany(list, count);
}
SIMGPU_IMPL(cuFuncSetBlockShape)(CUfunction handle, int x, int y, int z) {
  return withContext(Cu::cuFuncSetBlockShape, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    if (known != CUDA_SUCCESS) return known;
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    function->settings.block = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                                static_cast<unsigned>(z)};
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFuncSetSharedSize)(CUfunction handle, unsigned bytes) {
  return withContext(Cu::cuFuncSetSharedSize, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    if (known == CUDA_SUCCESS) function->settings.shared_bytes = bytes;
    return known;
  });
}
SIMGPU_IMPL(cuParamSetSize)(CUfunction handle, unsigned bytes) {
  return withContext(Cu::cuParamSetSize, [&](Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult known = findFunction(execOf(context), handle, &function);
    if (known != CUDA_SUCCESS) return known;
    return bytes > function->code->paramBytes() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuParamSeti)(CUfunction f, int offset, unsigned value) {
  return setParam(Cu::cuParamSeti, f, offset, &value, sizeof value);
}
SIMGPU_IMPL(cuParamSetf)(CUfunction f, int offset, float value) {
  return setParam(Cu::cuParamSetf, f, offset, &value, sizeof value);
}
SIMGPU_IMPL(cuParamSetv)(CUfunction f, int offset, void* value, unsigned bytes) {
  return setParam(Cu::cuParamSetv, f, offset, value, bytes);
}
SIMGPU_IMPL(cuLaunch)(CUfunction f) {
  return launchLegacy(Cu::cuLaunch, f, 1, 1, nullptr, false);
}
SIMGPU_IMPL(cuLaunchGrid)(CUfunction f, int width, int height) {
  return launchLegacy(Cu::cuLaunchGrid, f, width, height, nullptr, false);
}
SIMGPU_IMPL(cuLaunchGridAsync)(CUfunction f, int width, int height, CUstream s) {
  return launchLegacy(Cu::cuLaunchGridAsync, f, width, height, s, false);
}

}  // namespace divvy::simgpu
