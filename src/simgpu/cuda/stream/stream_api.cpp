// Entry points about streams.
#include "cuda/context/api_prologue.h"
#include "cuda/engine/engine_executor.h"
#include "cuda/graph/capture.h"
#include "cuda/memory/memory.h"
#include "cuda/pool/pool_exec.h"
#include "cuda/stream/event.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {
namespace {

template <typename Body>
CUresult withStream(Cu id, StreamArgument argument, Body&& body) {
  return withContext(id, [&](Context& context) -> CUresult {
    Stream* stream = nullptr;
    const CUresult known = findStream(context, argument, &stream);
    return known != CUDA_SUCCESS ? known : body(*stream);
  });
}

CUresult create(Cu id, CUstream* out, unsigned flags, int priority) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    ExecContext& exec = execOf(context);
    auto stream = std::make_unique<Stream>(exec, StreamKind::kCreated, flags,
                                           std::clamp(priority, kMaxUrgent, kMinUrgent));
    const std::lock_guard guard(exec.mutex);
    EngineLock lock(exec.device.engine);
    exec.created.insert(stream.get());
    *out = StreamHandles::get().add(stream.release());
    return CUDA_SUCCESS;
  });
}

// Work of the stream continues; the legacy stream still follows it.
CUresult destroy(Cu id, CUstream handle) {
  return withDriver(id, [&]() -> CUresult {
    Stream* stream = StreamHandles::get().find(handle);
    if (stream == nullptr || !StreamHandles::get().remove(stream)) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    dropStream(*stream);
    ExecContext& exec = stream->exec;
    {
      const std::lock_guard guard(exec.mutex);
      EngineLock lock(exec.device.engine);
      exec.created.erase(stream);
      std::erase_if(exec.orphans, [&](OpRef ref) { return lock.line().ended(ref); });
      if (stream->blocking()) exec.orphans.push_back(stream->tail);
    }
    delete stream;
    return CUDA_SUCCESS;
  });
}

CUresult query(Cu id, StreamArgument argument) {
  return withStream(id, argument, [](Stream& stream) -> CUresult {
    CUresult allowed = refuseCapturing(stream);
    if (allowed == CUDA_SUCCESS) allowed = checkUnsafe();
    if (allowed != CUDA_SUCCESS) return allowed;
    OpRef tail = 0;
    {
      EngineLock lock(stream.exec.device.engine);
      tail = stream.tail;
    }
    if (!hasEnded(stream.exec, tail)) return CUDA_ERROR_NOT_READY;
    return stream.exec.context.sticky();
  });
}

CUresult synchronizeApi(Cu id, StreamArgument argument) {
  return withStream(id, argument, [](Stream& stream) -> CUresult {
    CUresult result = refuseCapturing(stream);
    if (result == CUDA_SUCCESS) result = checkUnsafe();
    if (result != CUDA_SUCCESS) return result;
    result = synchronize(stream);
    trimPoolsAfterSynchronize(stream.exec.context.device(), stream.id);
    return result;
  });
}

CUresult waitEvent(Cu id, StreamArgument argument, CUevent handle, unsigned flags) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if ((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
    Event* event = nullptr;
    CUresult result = findEvent(handle, &event);
    if (result != CUDA_SUCCESS) return result;
    bool done = false;
    result = captureWait(stream, *event, flags == CU_EVENT_WAIT_EXTERNAL, &done);
    if (result != CUDA_SUCCESS || done) return result;
    return submit(stream, EventWaitOp{handle});
  });
}

CUresult addCallback(Cu id, StreamArgument argument, CUstreamCallback callback, void* data,
                     unsigned flags) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const CUresult allowed = refuseCapturing(stream);
    if (allowed != CUDA_SUCCESS) return allowed;
    Work work;
    work.task.host_always = true;
    work.task.host = [callback, data, handle = argument.stream](CUresult state) {
      callback(handle, state, data);
    };
    enqueue(stream, std::move(work));
    return CUDA_SUCCESS;
  });
}

CUresult launchHost(Cu id, StreamArgument argument, CUhostFn function, void* data) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, HostOp{function, data});
  });
}

// Managed memory is visible everywhere here, so attaching only checks its arguments.
CUresult attach(Cu id, StreamArgument argument, CUdeviceptr address, unsigned flags) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    const bool known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
                       flags == CU_MEM_ATTACH_SINGLE;
    const PointerKind kind = describePointer(address).kind;
    if (!known || (kind != PointerKind::kManaged && kind != PointerKind::kUnknown)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult allowed = refuseCapturing(stream);
    return allowed != CUDA_SUCCESS ? allowed : submit(stream, EmptyOp{});
  });
}

template <typename T, typename Value>
CUresult answer(Cu id, StreamArgument argument, T* out, Value&& value) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = value(stream);
    return CUDA_SUCCESS;
  });
}

int priorityOf(Stream& stream) {
  return stream.priority;
}
unsigned flagsOf(Stream& stream) {
  return stream.flags;
}
unsigned long long idOf(Stream& stream) {
  return stream.id;
}
CUdevice deviceOf(Stream& stream) {
  return stream.exec.context.device().ordinal;
}
CUcontext contextOf(Stream& stream) {
  return stream.exec.context.handle();
}

CUresult contextAndGreen(Cu id, StreamArgument argument, CUcontext* context, CUgreenCtx* green) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (context != nullptr) *context = contextOf(stream);
    if (green != nullptr) *green = stream.exec.context.green;
    return CUDA_SUCCESS;
  });
}

CUstreamAttrValue* attributeOf(Stream& stream, CUstreamAttrID attribute) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return &stream.access_policy;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return &stream.sync_policy;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return &stream.sync_domain;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return &stream.sync_domain_map;
    default:
      return nullptr;
  }
}

CUresult getAttribute(Cu id, StreamArgument argument, CUstreamAttrID attribute,
                      CUstreamAttrValue* out) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(stream.exec.mutex);
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      out->priority = stream.priority;
      return CUDA_SUCCESS;
    }
    const CUstreamAttrValue* value = attributeOf(stream, attribute);
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = *value;
    return CUDA_SUCCESS;
  });
}

CUresult setAttribute(Cu id, StreamArgument argument, CUstreamAttrID attribute,
                      const CUstreamAttrValue* value) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(stream.exec.mutex);
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      stream.priority = std::clamp(value->priority, kMaxUrgent, kMinUrgent);
      return CUDA_SUCCESS;
    }
    CUstreamAttrValue* stored = attributeOf(stream, attribute);
    if (stored == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *stored = *value;
    return CUDA_SUCCESS;
  });
}

CUresult copyAttributes(Cu id, StreamArgument to, StreamArgument from) {
  return withStream(id, from, [&](Stream& source) -> CUresult {
    Stream* target = nullptr;
    const CUresult known = findStream(source.exec.context, to, &target);
    if (known != CUDA_SUCCESS) return known;
    target->priority = source.priority;
    target->access_policy = source.access_policy;
    target->sync_policy = source.sync_policy;
    target->sync_domain = source.sync_domain;
    target->sync_domain_map = source.sync_domain_map;
    return CUDA_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(cuStreamCreate)(CUstream* out, unsigned flags) {
  return create(Cu::cuStreamCreate, out, flags, kMinUrgent);
}
SIMGPU_IMPL(cuStreamCreateWithPriority)(CUstream* out, unsigned flags, int priority) {
  return create(Cu::cuStreamCreateWithPriority, out, flags, priority);
}
SIMGPU_IMPL(cuStreamDestroy)(CUstream s) {
  return destroy(Cu::cuStreamDestroy, s);
}
SIMGPU_IMPL(cuStreamDestroy_v2)(CUstream s) {
  return destroy(Cu::cuStreamDestroy_v2, s);
}
SIMGPU_IMPL(cuStreamQuery)(CUstream s) {
  return query(Cu::cuStreamQuery, {s, false});
}
SIMGPU_IMPL(cuStreamQuery_ptsz)(CUstream s) {
  return query(Cu::cuStreamQuery_ptsz, {s, true});
}
SIMGPU_IMPL(cuStreamSynchronize)(CUstream s) {
  return synchronizeApi(Cu::cuStreamSynchronize, {s, false});
}
SIMGPU_IMPL(cuStreamSynchronize_ptsz)(CUstream s) {
  return synchronizeApi(Cu::cuStreamSynchronize_ptsz, {s, true});
}
SIMGPU_IMPL(cuStreamWaitEvent)(CUstream s, CUevent event, unsigned flags) {
  return waitEvent(Cu::cuStreamWaitEvent, {s, false}, event, flags);
}
SIMGPU_IMPL(cuStreamWaitEvent_ptsz)(CUstream s, CUevent event, unsigned flags) {
  return waitEvent(Cu::cuStreamWaitEvent_ptsz, {s, true}, event, flags);
}
SIMGPU_IMPL(cuStreamAddCallback)(CUstream s, CUstreamCallback f, void* data, unsigned flags) {
  return addCallback(Cu::cuStreamAddCallback, {s, false}, f, data, flags);
}
SIMGPU_IMPL(cuStreamAddCallback_ptsz)(CUstream s, CUstreamCallback f, void* data, unsigned flags) {
  return addCallback(Cu::cuStreamAddCallback_ptsz, {s, true}, f, data, flags);
}
SIMGPU_IMPL(cuLaunchHostFunc)(CUstream s, CUhostFn f, void* data) {
  return launchHost(Cu::cuLaunchHostFunc, {s, false}, f, data);
}
SIMGPU_IMPL(cuLaunchHostFunc_ptsz)(CUstream s, CUhostFn f, void* data) {
  return launchHost(Cu::cuLaunchHostFunc_ptsz, {s, true}, f, data);
}
SIMGPU_IMPL(cuLaunchHostFunc_v2)(CUstream s, CUhostFn f, void* data, unsigned) {
  return launchHost(Cu::cuLaunchHostFunc_v2, {s, false}, f, data);
}
SIMGPU_IMPL(cuLaunchHostFunc_v2_ptsz)(CUstream s, CUhostFn f, void* data, unsigned) {
  return launchHost(Cu::cuLaunchHostFunc_v2_ptsz, {s, true}, f, data);
}
SIMGPU_IMPL(cuStreamAttachMemAsync)(CUstream s, CUdeviceptr p, std::size_t, unsigned flags) {
  return attach(Cu::cuStreamAttachMemAsync, {s, false}, p, flags);
}
SIMGPU_IMPL(cuStreamAttachMemAsync_ptsz)(CUstream s, CUdeviceptr p, std::size_t, unsigned flags) {
  return attach(Cu::cuStreamAttachMemAsync_ptsz, {s, true}, p, flags);
}
SIMGPU_IMPL(cuStreamGetPriority)(CUstream s, int* out) {
  return answer(Cu::cuStreamGetPriority, {s, false}, out, priorityOf);
}
SIMGPU_IMPL(cuStreamGetPriority_ptsz)(CUstream s, int* out) {
  return answer(Cu::cuStreamGetPriority_ptsz, {s, true}, out, priorityOf);
}
SIMGPU_IMPL(cuStreamGetFlags)(CUstream s, unsigned* out) {
  return answer(Cu::cuStreamGetFlags, {s, false}, out, flagsOf);
}
SIMGPU_IMPL(cuStreamGetFlags_ptsz)(CUstream s, unsigned* out) {
  return answer(Cu::cuStreamGetFlags_ptsz, {s, true}, out, flagsOf);
}
SIMGPU_IMPL(cuStreamGetId)(CUstream s, unsigned long long* out) {
  return answer(Cu::cuStreamGetId, {s, false}, out, idOf);
}
SIMGPU_IMPL(cuStreamGetId_ptsz)(CUstream s, unsigned long long* out) {
  return answer(Cu::cuStreamGetId_ptsz, {s, true}, out, idOf);
}
SIMGPU_IMPL(cuStreamGetDevice)(CUstream s, CUdevice* out) {
  return answer(Cu::cuStreamGetDevice, {s, false}, out, deviceOf);
}
SIMGPU_IMPL(cuStreamGetDevice_ptsz)(CUstream s, CUdevice* out) {
  return answer(Cu::cuStreamGetDevice_ptsz, {s, true}, out, deviceOf);
}
SIMGPU_IMPL(cuStreamGetCtx)(CUstream s, CUcontext* out) {
  return answer(Cu::cuStreamGetCtx, {s, false}, out, contextOf);
}
SIMGPU_IMPL(cuStreamGetCtx_ptsz)(CUstream s, CUcontext* out) {
  return answer(Cu::cuStreamGetCtx_ptsz, {s, true}, out, contextOf);
}
SIMGPU_IMPL(cuStreamGetCtx_v2)(CUstream s, CUcontext* context, CUgreenCtx* green) {
  return contextAndGreen(Cu::cuStreamGetCtx_v2, {s, false}, context, green);
}
SIMGPU_IMPL(cuStreamGetCtx_v2_ptsz)(CUstream s, CUcontext* context, CUgreenCtx* green) {
  return contextAndGreen(Cu::cuStreamGetCtx_v2_ptsz, {s, true}, context, green);
}
SIMGPU_IMPL(cuStreamGetAttribute)(CUstream s, CUstreamAttrID id, CUstreamAttrValue* out) {
  return getAttribute(Cu::cuStreamGetAttribute, {s, false}, id, out);
}
SIMGPU_IMPL(cuStreamGetAttribute_ptsz)(CUstream s, CUstreamAttrID id, CUstreamAttrValue* out) {
  return getAttribute(Cu::cuStreamGetAttribute_ptsz, {s, true}, id, out);
}
SIMGPU_IMPL(cuStreamSetAttribute)(CUstream s, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return setAttribute(Cu::cuStreamSetAttribute, {s, false}, id, value);
}
SIMGPU_IMPL(cuStreamSetAttribute_ptsz)
(CUstream s, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return setAttribute(Cu::cuStreamSetAttribute_ptsz, {s, true}, id, value);
}
SIMGPU_IMPL(cuStreamCopyAttributes)(CUstream to, CUstream from) {
  return copyAttributes(Cu::cuStreamCopyAttributes, {to, false}, {from, false});
}
SIMGPU_IMPL(cuStreamCopyAttributes_ptsz)(CUstream to, CUstream from) {
  return copyAttributes(Cu::cuStreamCopyAttributes_ptsz, {to, true}, {from, true});
}
SIMGPU_IMPL(cuCtxGetStreamPriorityRange)(int* least, int* most) {
  return withContext(Cu::cuCtxGetStreamPriorityRange, [&](Context&) -> CUresult {
    if (least != nullptr) *least = kMinUrgent;
    if (most != nullptr) *most = kMaxUrgent;
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
