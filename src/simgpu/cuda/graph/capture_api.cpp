// Entry points of stream capture.
#include "cuda/context/api_prologue.h"
#include "cuda/graph/capture.h"

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

bool isMode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(Cu id, StreamArgument argument, CUstreamCaptureMode mode) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (!isMode(mode)) return CUDA_ERROR_INVALID_VALUE;
    return beginCapture(stream, mode, nullptr, {});
  });
}

CUresult beginToGraph(Cu id, StreamArgument argument, CUgraph handle, const CUgraphNode* after,
                      std::size_t count, CUstreamCaptureMode mode) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    Graph* graph = GraphHandles::get().find(handle);
    if (graph == nullptr || !isMode(mode)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> nodes;
    const CUresult known = findNodes(after, count, graph, &nodes);
    if (known != CUDA_SUCCESS) return known;
    return beginCapture(stream, mode, graph->shared_from_this(), std::move(nodes));
  });
}

CUresult end(Cu id, StreamArgument argument, CUgraph* out) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    return out == nullptr ? CUDA_ERROR_INVALID_VALUE : endCapture(stream, out);
  });
}

// The externally visible state of a stream's capture. The lists stay valid until the stream
// captures its next operation.
struct CaptureInfo {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** nodes = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};

CUresult info(Cu id, StreamArgument argument, const CaptureInfo& out) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    if (out.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (legacyIsImplied(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const std::lock_guard guard(captureMutex());
    if (stream.capture == nullptr) {
      *out.status = CU_STREAM_CAPTURE_STATUS_NONE;
      return CUDA_SUCCESS;
    }
    *out.status = stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (stream.capture->invalid) return CUDA_SUCCESS;
    if (out.id != nullptr) *out.id = stream.capture->id;
    if (out.graph != nullptr) *out.graph = stream.capture->graph->handle();
    stream.shown_nodes.clear();
    for (GraphNode* node : stream.capture_tail) stream.shown_nodes.push_back(node->handle());
    stream.shown_edges.assign(stream.shown_nodes.size(), {});
    if (out.nodes != nullptr) *out.nodes = stream.shown_nodes.data();
    if (out.edges != nullptr) *out.edges = stream.shown_edges.data();
    if (out.count != nullptr) *out.count = stream.shown_nodes.size();
    return CUDA_SUCCESS;
  });
}

CUresult isCapturing(Cu id, StreamArgument argument, CUstreamCaptureStatus* out) {
  return info(id, argument, {.status = out});
}

CUresult update(Cu id, StreamArgument argument, CUgraphNode* handles, std::size_t count,
                unsigned flags) {
  return withStream(id, argument, [&](Stream& stream) -> CUresult {
    const std::lock_guard guard(captureMutex());
    if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::vector<GraphNode*> nodes;
    const CUresult known = findNodes(handles, count, stream.capture->graph.get(), &nodes);
    if (known != CUDA_SUCCESS) return known;
    auto& tail = stream.capture_tail;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      tail = std::move(nodes);
      return CUDA_SUCCESS;
    }
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    for (GraphNode* node : nodes) {
      if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(cuStreamBeginCapture)(CUstream s) {
  return begin(Cu::cuStreamBeginCapture, {s, false}, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIMGPU_IMPL(cuStreamBeginCapture_ptsz)(CUstream s) {
  return begin(Cu::cuStreamBeginCapture_ptsz, {s, true}, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIMGPU_IMPL(cuStreamBeginCapture_v2)(CUstream s, CUstreamCaptureMode mode) {
  return begin(Cu::cuStreamBeginCapture_v2, {s, false}, mode);
}
SIMGPU_IMPL(cuStreamBeginCapture_v2_ptsz)(CUstream s, CUstreamCaptureMode mode) {
  return begin(Cu::cuStreamBeginCapture_v2_ptsz, {s, true}, mode);
}
SIMGPU_IMPL(cuStreamBeginCaptureToGraph)
(CUstream s, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*, std::size_t count,
 CUstreamCaptureMode mode) {
  return beginToGraph(Cu::cuStreamBeginCaptureToGraph, {s, false}, graph, after, count, mode);
}
SIMGPU_IMPL(cuStreamBeginCaptureToGraph_ptsz)
(CUstream s, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*, std::size_t count,
 CUstreamCaptureMode mode) {
  return beginToGraph(Cu::cuStreamBeginCaptureToGraph_ptsz, {s, true}, graph, after, count, mode);
}
SIMGPU_IMPL(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
  return withDriver(Cu::cuThreadExchangeStreamCaptureMode, [&]() -> CUresult {
    if (mode == nullptr || !isMode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    *mode = exchangeThreadMode(*mode);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuStreamEndCapture)(CUstream s, CUgraph* out) {
  return end(Cu::cuStreamEndCapture, {s, false}, out);
}
SIMGPU_IMPL(cuStreamEndCapture_ptsz)(CUstream s, CUgraph* out) {
  return end(Cu::cuStreamEndCapture_ptsz, {s, true}, out);
}
SIMGPU_IMPL(cuStreamIsCapturing)(CUstream s, CUstreamCaptureStatus* out) {
  return isCapturing(Cu::cuStreamIsCapturing, {s, false}, out);
}
SIMGPU_IMPL(cuStreamIsCapturing_ptsz)(CUstream s, CUstreamCaptureStatus* out) {
  return isCapturing(Cu::cuStreamIsCapturing_ptsz, {s, true}, out);
}
SIMGPU_IMPL(cuStreamGetCaptureInfo)(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return info(Cu::cuStreamGetCaptureInfo, {s, false}, {.status = status, .id = id});
}
SIMGPU_IMPL(cuStreamGetCaptureInfo_ptsz)
(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return info(Cu::cuStreamGetCaptureInfo_ptsz, {s, true}, {.status = status, .id = id});
}
SIMGPU_IMPL(cuStreamGetCaptureInfo_v2)
(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
 const CUgraphNode** nodes, std::size_t* count) {
  return info(Cu::cuStreamGetCaptureInfo_v2, {s, false},
              {status, id, graph, nodes, nullptr, count});
}
SIMGPU_IMPL(cuStreamGetCaptureInfo_v2_ptsz)
(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
 const CUgraphNode** nodes, std::size_t* count) {
  return info(Cu::cuStreamGetCaptureInfo_v2_ptsz, {s, true},
              {status, id, graph, nodes, nullptr, count});
}
SIMGPU_IMPL(cuStreamGetCaptureInfo_v3)
(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
 const CUgraphNode** nodes, const CUgraphEdgeData** edges, std::size_t* count) {
  return info(Cu::cuStreamGetCaptureInfo_v3, {s, false}, {status, id, graph, nodes, edges, count});
}
SIMGPU_IMPL(cuStreamGetCaptureInfo_v3_ptsz)
(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
 const CUgraphNode** nodes, const CUgraphEdgeData** edges, std::size_t* count) {
  return info(Cu::cuStreamGetCaptureInfo_v3_ptsz, {s, true},
              {status, id, graph, nodes, edges, count});
}
SIMGPU_IMPL(cuStreamUpdateCaptureDependencies)
(CUstream s, CUgraphNode* nodes, std::size_t count, unsigned flags) {
  return update(Cu::cuStreamUpdateCaptureDependencies, {s, false}, nodes, count, flags);
}
SIMGPU_IMPL(cuStreamUpdateCaptureDependencies_ptsz)
(CUstream s, CUgraphNode* nodes, std::size_t count, unsigned flags) {
  return update(Cu::cuStreamUpdateCaptureDependencies_ptsz, {s, true}, nodes, count, flags);
}
SIMGPU_IMPL(cuStreamUpdateCaptureDependencies_v2)
(CUstream s, CUgraphNode* nodes, const CUgraphEdgeData*, std::size_t count, unsigned flags) {
  return update(Cu::cuStreamUpdateCaptureDependencies_v2, {s, false}, nodes, count, flags);
}
SIMGPU_IMPL(cuStreamUpdateCaptureDependencies_v2_ptsz)
(CUstream s, CUgraphNode* nodes, const CUgraphEdgeData*, std::size_t count, unsigned flags) {
  return update(Cu::cuStreamUpdateCaptureDependencies_v2_ptsz, {s, true}, nodes, count, flags);
}

}  // namespace divvy::simgpu
