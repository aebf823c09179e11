// Entry points about events, and the synchronisation of whole contexts.
#include "cuda/context/api_prologue.h"
#include "cuda/engine/engine_executor.h"
#include "cuda/graph/capture.h"
#include "cuda/pool/pool_exec.h"
#include "cuda/stream/event.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

template <typename Body>
CUresult withEvent(Cu id, CUevent handle, Body&& body) {
  return withContext(id, [&](Context&) -> CUresult {
    Event* event = nullptr;
    const CUresult known = findEvent(handle, &event);
    return known != CUDA_SUCCESS ? known : body(*event);
  });
}

CUresult destroy(Cu id, CUevent handle) {
  return withDriver(id, [&]() -> CUresult {
    Event* event = EventHandles::get().find(handle);
    if (event == nullptr || !EventHandles::get().remove(event)) return CUDA_ERROR_INVALID_HANDLE;
    {
      const std::lock_guard guard(event->exec.mutex);
      event->exec.events.erase(event);
    }
    delete event;
    return CUDA_SUCCESS;
  });
}

CUresult record(Cu id, CUevent handle, StreamArgument argument, unsigned flags) {
  return withContext(id, [&](Context& context) -> CUresult {
    if ((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
    Event* event = nullptr;
    Stream* stream = nullptr;
    CUresult result = findEvent(handle, &event);
    if (result == CUDA_SUCCESS) result = findStream(context, argument, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (&event->exec != &stream->exec) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Capture> capture;
    result = beginOperation(*stream, &capture);
    if (result != CUDA_SUCCESS) return result;
    const bool external = flags == CU_EVENT_RECORD_EXTERNAL;
    if (capture != nullptr && !external) return captureRecord(*stream, *capture, *event);
    if (capture == nullptr && external) return CUDA_ERROR_INVALID_VALUE;
    if (capture == nullptr) uncapture(*event);
    event->recorded_in = stream->id;
    return submit(*stream, EventRecordOp{handle});
  });
}

CUresult elapsed(Cu id, float* out, CUevent first, CUevent second) {
  return withContext(id, [&](Context&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Nanos stamps[2];
    int at = 0;
    for (const CUevent handle : {first, second}) {
      Event* event = nullptr;
      CUresult result = findEvent(handle, &event);
      if (result == CUDA_SUCCESS) result = refuseCaptured(*event);
      if (result != CUDA_SUCCESS) return result;
      const std::shared_ptr<Completion> last = event->last();
      if (!event->timed() || last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (!eventEnded(*event)) return CUDA_ERROR_NOT_READY;
      stamps[at++] = last->end_ns;
    }
    const double nanos = stamps[1] >= stamps[0] ? static_cast<double>(stamps[1] - stamps[0])
                                                : -static_cast<double>(stamps[0] - stamps[1]);
    *out = static_cast<float>(nanos / 1e6);
    return CUDA_SUCCESS;
  });
}

// Waits for all work of the context, and for no other work of its device.
CUresult synchronizeContext(Context& context) {
  ExecContext& exec = execOf(context);
  CUresult result = refuseCapturingIn(exec);
  if (result == CUDA_SUCCESS) result = checkUnsafe();
  if (result != CUDA_SUCCESS) return result;
  result = waitForAll(exec);
  trimPoolsAfterSynchronize(context.device(), 0);
  return result;
}

// The context of a call that names one; nullptr names the current one.
CUresult namedContext(Context& current, CUcontext handle, ExecContext** out) {
  Context* context = handle == nullptr ? &current : findContext(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = &execOf(*context);
  return context->sticky();
}

// After all streams of the context. `gate`: also before all later work in any of them.
class WholeContext final : public Placement {
 public:
  WholeContext(ExecContext& exec, bool gate) : exec_(exec), gate_(gate) {}
  void collect(Timeline&, std::vector<OpRef>* deps) override {
    forEach([&](Stream& stream) { deps->push_back(stream.tail); });
    deps->insert(deps->end(), exec_.orphans.begin(), exec_.orphans.end());
  }
  void placed(OpRef ref) override {
    if (gate_) forEach([&](Stream& stream) { stream.tail = ref; });
  }

 private:
  template <typename Step>
  void forEach(Step&& step) {
    step(*exec_.legacy);
    for (Stream* stream : exec_.created) step(*stream);
    for (const auto& [thread, stream] : exec_.per_thread) step(*stream);
  }

  ExecContext& exec_;
  const bool gate_;
};

}  // namespace

SIMGPU_IMPL(cuEventCreate)(CUevent* out, unsigned flags) {
  return withContext(Cu::cuEventCreate, [&](Context& context) -> CUresult {
    if (out == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    ExecContext& exec = execOf(context);
    if ((flags & CU_EVENT_INTERPROCESS) == 0) {
      *out = addEvent(std::make_unique<Event>(exec, flags));
      return CUDA_SUCCESS;
    }
    // As the driver requires.
    if ((flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
    SharedEventName name;
    {
      EngineLock lock(exec.device.engine);
      name = lock.makeEvent();
    }
    if (name.id == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = addEvent(std::make_unique<Event>(exec, flags, name, true));
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuEventDestroy)(CUevent event) {
  return destroy(Cu::cuEventDestroy, event);
}
SIMGPU_IMPL(cuEventDestroy_v2)(CUevent event) {
  return destroy(Cu::cuEventDestroy_v2, event);
}
SIMGPU_IMPL(cuEventRecord)(CUevent event, CUstream s) {
  return record(Cu::cuEventRecord, event, {s, false}, 0);
}
SIMGPU_IMPL(cuEventRecord_ptsz)(CUevent event, CUstream s) {
  return record(Cu::cuEventRecord_ptsz, event, {s, true}, 0);
}
SIMGPU_IMPL(cuEventRecordWithFlags)(CUevent event, CUstream s, unsigned flags) {
  return record(Cu::cuEventRecordWithFlags, event, {s, false}, flags);
}
SIMGPU_IMPL(cuEventRecordWithFlags_ptsz)(CUevent event, CUstream s, unsigned flags) {
  return record(Cu::cuEventRecordWithFlags_ptsz, event, {s, true}, flags);
}
SIMGPU_IMPL(cuEventQuery)(CUevent handle) {
  return withEvent(Cu::cuEventQuery, handle, [](Event& event) -> CUresult {
    CUresult result = refuseCaptured(event);
    if (result == CUDA_SUCCESS) result = checkUnsafe();
    if (result != CUDA_SUCCESS) return result;
    if (!eventEnded(event)) return CUDA_ERROR_NOT_READY;
    return event.exec.context.sticky();
  });
}
SIMGPU_IMPL(cuEventSynchronize)(CUevent handle) {
  return withEvent(Cu::cuEventSynchronize, handle, [](Event& event) -> CUresult {
    CUresult result = refuseCaptured(event);
    if (result == CUDA_SUCCESS) result = checkUnsafe();
    if (result != CUDA_SUCCESS) return result;
    result = waitForEvent(event);
    trimPoolsAfterSynchronize(event.exec.context.device(), event.recorded_in.load());
    return result;
  });
}
SIMGPU_IMPL(cuEventElapsedTime)(float* out, CUevent start, CUevent end) {
  return elapsed(Cu::cuEventElapsedTime, out, start, end);
}
SIMGPU_IMPL(cuEventElapsedTime_v2)(float* out, CUevent start, CUevent end) {
  return elapsed(Cu::cuEventElapsedTime_v2, out, start, end);
}

SIMGPU_IMPL(cuCtxSynchronize)() {
  return withContext(Cu::cuCtxSynchronize,
                     [](Context& context) { return synchronizeContext(context); });
}
SIMGPU_IMPL(cuCtxSynchronize_v2)(CUcontext handle) {
  return withContext(Cu::cuCtxSynchronize_v2, [&](Context& current) -> CUresult {
    ExecContext* exec = nullptr;
    const CUresult known = namedContext(current, handle, &exec);
    return known != CUDA_SUCCESS ? known : synchronizeContext(exec->context);
  });
}
SIMGPU_IMPL(cuCtxRecordEvent)(CUcontext handle, CUevent event_handle) {
  return withContext(Cu::cuCtxRecordEvent, [&](Context& current) -> CUresult {
    ExecContext* exec = nullptr;
    Event* event = nullptr;
    CUresult result = namedContext(current, handle, &exec);
    if (result == CUDA_SUCCESS) result = findEvent(event_handle, &event);
    if (result == CUDA_SUCCESS && &event->exec != exec) result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) result = refuseCapturingIn(*exec);
    if (result != CUDA_SUCCESS) return result;
    uncapture(*event);
    event->recorded_in = Event::kNoStream;
    WholeContext whole(*exec, false);
    place(*exec, recordWork(*event), whole);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuCtxWaitEvent)(CUcontext handle, CUevent event_handle) {
  return withContext(Cu::cuCtxWaitEvent, [&](Context& current) -> CUresult {
    ExecContext* exec = nullptr;
    Event* event = nullptr;
    CUresult result = namedContext(current, handle, &exec);
    if (result == CUDA_SUCCESS) result = findEvent(event_handle, &event);
    if (result == CUDA_SUCCESS) result = refuseCapturingIn(*exec);
    if (result == CUDA_SUCCESS && isCaptured(*event)) {
      refuseCaptured(*event);
      result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (result != CUDA_SUCCESS) return result;
    WholeContext whole(*exec, true);
    place(*exec, waitWork(*exec, *event), whole);
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
