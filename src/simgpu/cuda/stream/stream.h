// Streams of a context: order among the work given to one, and the implicit order that the legacy
// default stream imposes on the others.
#pragma once

#include "abi/cuda_types.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/context/exec.h"
#include "cuda/engine/engine.h"
#include "cuda/engine/engine_handles.h"

namespace divvy::simgpu {

class Capture;
struct GraphNode;

enum class StreamKind { kCreated, kLegacy, kPerThread };

class Stream final : public Placement {
 public:
  Stream(ExecContext& e, StreamKind k, unsigned f, int p);

  ExecContext& exec;
  const StreamKind kind;
  const unsigned flags;
  const std::uint64_t id;
  int priority;  // lower is more urgent

  // Ordered with the legacy stream.
  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
  CUstream handle() { return reinterpret_cast<CUstream>(this); }

  // Placement: after what the stream holds, and the legacy rule.
  void collect(Timeline& line, std::vector<OpRef>* deps) override;
  void placed(OpRef ref) override { tail = ref; }

  OpRef tail = 0;  // last work; guarded by the card's lock

  // Guarded by captureMutex(): the capture this stream is part of, and the nodes that the next
  // captured operation follows.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;
  std::vector<CUgraphNode> shown_nodes;  // target of cuStreamGetCaptureInfo's pointers
  std::vector<CUgraphEdgeData> shown_edges;

  // cuStreamSetAttribute; guarded by exec.mutex. Only stored: they change nothing here.
  CUstreamAttrValue access_policy{};
  CUstreamAttrValue sync_policy{};
  CUstreamAttrValue sync_domain{};
  CUstreamAttrValue sync_domain_map{};
};

using StreamHandles = HandleSet<Stream, CUstream>;

// The stream that an argument denotes while `current` is the current context.
// CUDA_ERROR_INVALID_HANDLE, or the sticky error of the stream's context.
CUresult findStream(Context& current, StreamArgument argument, Stream** out);

// Puts work into a stream that is not capturing.
OpRef enqueue(Stream& stream, Work work);
// Waits for all work of the stream; the context's state.
CUresult synchronize(Stream& stream);
// The most urgent and the least urgent priority, as cuCtxGetStreamPriorityRange answers.
inline constexpr int kMaxUrgent = -5;
inline constexpr int kMinUrgent = 0;

}  // namespace divvy::simgpu
