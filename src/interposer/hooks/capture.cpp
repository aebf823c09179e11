// Captures are counted from their beginning. From then on our own driver calls consider them, and
// until they end each launch is checked for being captured.
#include "launch/launch_gate.h"
#include "runtime.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// The two forms of a stream argument: which default stream a null one means.
struct Plain {
  static bool isCapturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    real<Cu::cuStreamIsCapturing>()(stream, &status);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }
  static CUcontext contextOf(CUstream stream) {
    CUcontext context = nullptr;
    real<Cu::cuStreamGetCtx>()(stream, &context);
    return context;
  }
};
struct PerThread {
  static bool isCapturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    real<Cu::cuStreamIsCapturing_ptsz>()(stream, &status);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }
  static CUcontext contextOf(CUstream stream) {
    CUcontext context = nullptr;
    real<Cu::cuStreamGetCtx_ptsz>()(stream, &context);
    return context;
  }
};

// Counts a capture that is about to begin, while all memory is resident. Captured calls never wait,
// and no memory is swapped out before the capture has ended.
CUresult countBeginning() {
  Runtime& state = runtime();
  state.captures.beginning();
  while (!state.memory_gate.isOpen()) {
    state.captures.failed();
    const CUresult refused = state.memory_gate.awaitOpen();
    if (refused != CUDA_SUCCESS) return refused;
    state.captures.beginning();
  }
  return CUDA_SUCCESS;
}

template <typename Form, Cu kId, typename... Arguments>
CUresult beginCapture(CUstream stream, Arguments... arguments) {
  const DriverCallScope inside;
  if (inside.nested()) return real<kId>()(stream, arguments...);
  CaptureTracker& captures = runtime().captures;
  const CUcontext context = Form::contextOf(stream);
  runtime().captures_begun.store(true, std::memory_order_relaxed);
  if (const CUresult refused = countBeginning()) return refused;
  runtime().meter.makeWayForCapture();
  const CUresult result = real<kId>()(stream, arguments...);
  if (result == CUDA_SUCCESS) {
    captures.begun(stream, context);
  } else {
    captures.failed();
  }
  return result;
}

// A capture that was invalidated ends with an error; one that the wrong thread tries to end
// continues.
template <typename Form, Cu kId, typename... Arguments>
CUresult endCapture(CUstream stream, Arguments... arguments) {
  const DriverCallScope inside;
  const bool before = !inside.nested() && Form::isCapturing(stream);
  const CUresult result = real<kId>()(stream, arguments...);
  if (before && !Form::isCapturing(stream)) {
    runtime().captures.ended(stream);
    if (runtime().memory_gate.active()) runtime().pagers.wake();
  }
  return result;
}

}  // namespace

DIVVY_HOOK(cuStreamBeginCapture)(CUstream stream) noexcept {
  return beginCapture<Plain, Cu::cuStreamBeginCapture>(stream);
}

DIVVY_HOOK(cuStreamBeginCapture_ptsz)(CUstream stream) noexcept {
  return beginCapture<PerThread, Cu::cuStreamBeginCapture_ptsz>(stream);
}

DIVVY_HOOK(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Plain, Cu::cuStreamBeginCapture_v2>(stream, mode);
}

DIVVY_HOOK(cuStreamBeginCapture_v2_ptsz)(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return beginCapture<PerThread, Cu::cuStreamBeginCapture_v2_ptsz>(stream, mode);
}

DIVVY_HOOK(cuStreamBeginCaptureToGraph)
(CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Plain, Cu::cuStreamBeginCaptureToGraph>(stream, graph, dependencies, edges,
                                                              count, mode);
}

DIVVY_HOOK(cuStreamBeginCaptureToGraph_ptsz)
(CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUstreamCaptureMode mode) noexcept {
  return beginCapture<PerThread, Cu::cuStreamBeginCaptureToGraph_ptsz>(stream, graph, dependencies,
                                                                       edges, count, mode);
}

DIVVY_HOOK(cuStreamBeginRecaptureToGraph)
(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback,
 void* data) noexcept {
  return beginCapture<Plain, Cu::cuStreamBeginRecaptureToGraph>(stream, mode, graph, callback,
                                                                data);
}

DIVVY_HOOK(cuStreamBeginRecaptureToGraph_ptsz)
(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback,
 void* data) noexcept {
  return beginCapture<PerThread, Cu::cuStreamBeginRecaptureToGraph_ptsz>(stream, mode, graph,
                                                                         callback, data);
}

DIVVY_HOOK(cuStreamBeginCaptureToCig)
(CUstream stream, CUstreamCigCaptureParams* params) noexcept {
  return beginCapture<Plain, Cu::cuStreamBeginCaptureToCig>(stream, params);
}

DIVVY_HOOK(cuStreamBeginCaptureToCig_ptsz)
(CUstream stream, CUstreamCigCaptureParams* params) noexcept {
  return beginCapture<PerThread, Cu::cuStreamBeginCaptureToCig_ptsz>(stream, params);
}

DIVVY_HOOK(cuStreamEndCapture)(CUstream stream, CUgraph* graph) noexcept {
  return endCapture<Plain, Cu::cuStreamEndCapture>(stream, graph);
}

DIVVY_HOOK(cuStreamEndCapture_ptsz)(CUstream stream, CUgraph* graph) noexcept {
  return endCapture<PerThread, Cu::cuStreamEndCapture_ptsz>(stream, graph);
}

DIVVY_HOOK(cuStreamEndCaptureToCig)(CUstream stream) noexcept {
  return endCapture<Plain, Cu::cuStreamEndCaptureToCig>(stream);
}

DIVVY_HOOK(cuStreamEndCaptureToCig_ptsz)(CUstream stream) noexcept {
  return endCapture<PerThread, Cu::cuStreamEndCaptureToCig_ptsz>(stream);
}
