// Captures are noted when they begin: from then on our own driver calls take care of them.
#include "gate.h"
#include "runtime.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

template <Cu kId, typename... Arguments>
CUresult beginCapture(Arguments... arguments) {
  runtime().captures_begun.store(true, std::memory_order_relaxed);
  return real<kId>()(arguments...);
}

}  // namespace

DIVVY_HOOK(cuStreamBeginCapture)(CUstream stream) noexcept {
  return beginCapture<Cu::cuStreamBeginCapture>(stream);
}

DIVVY_HOOK(cuStreamBeginCapture_ptsz)(CUstream stream) noexcept {
  return beginCapture<Cu::cuStreamBeginCapture_ptsz>(stream);
}

DIVVY_HOOK(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Cu::cuStreamBeginCapture_v2>(stream, mode);
}

DIVVY_HOOK(cuStreamBeginCapture_v2_ptsz)(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Cu::cuStreamBeginCapture_v2_ptsz>(stream, mode);
}

DIVVY_HOOK(cuStreamBeginCaptureToGraph)
(CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Cu::cuStreamBeginCaptureToGraph>(stream, graph, dependencies, edges, count,
                                                       mode);
}

DIVVY_HOOK(cuStreamBeginCaptureToGraph_ptsz)
(CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUstreamCaptureMode mode) noexcept {
  return beginCapture<Cu::cuStreamBeginCaptureToGraph_ptsz>(stream, graph, dependencies, edges,
                                                            count, mode);
}

DIVVY_HOOK(cuStreamBeginRecaptureToGraph)
(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback,
 void* data) noexcept {
  return beginCapture<Cu::cuStreamBeginRecaptureToGraph>(stream, mode, graph, callback, data);
}

DIVVY_HOOK(cuStreamBeginRecaptureToGraph_ptsz)
(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback,
 void* data) noexcept {
  return beginCapture<Cu::cuStreamBeginRecaptureToGraph_ptsz>(stream, mode, graph, callback, data);
}

DIVVY_HOOK(cuStreamBeginCaptureToCig)
(CUstream stream, CUstreamCigCaptureParams* params) noexcept {
  return beginCapture<Cu::cuStreamBeginCaptureToCig>(stream, params);
}

DIVVY_HOOK(cuStreamBeginCaptureToCig_ptsz)
(CUstream stream, CUstreamCigCaptureParams* params) noexcept {
  return beginCapture<Cu::cuStreamBeginCaptureToCig_ptsz>(stream, params);
}
