#include "cuda/graph/capture.h"

#include <algorithm>
#include <atomic>

#include "cuda/stream/event.h"

namespace divvy::simgpu {
namespace {

std::vector<std::shared_ptr<Capture>>& active() {
  static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

// The number of captures, so that programs without captures pay one load for each call.
std::atomic<int> active_count{0};
std::uint64_t next_id = 1;

CUstreamCaptureMode& threadMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

// Removes all streams from the capture.
void finish(Capture& capture) {
  for (Stream* stream : capture.streams) {
    stream->capture.reset();
    stream->capture_tail.clear();
  }
  capture.streams.clear();
  capture.over = true;
  std::erase_if(active(), [&](const auto& one) { return one.get() == &capture; });
  active_count.store(static_cast<int>(active().size()), std::memory_order_release);
}

CUgraphNodeType typeOf(const Operation& operation) {
  static constexpr CUgraphNodeType kTypes[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,
      CU_GRAPH_NODE_TYPE_MEMCPY,     CU_GRAPH_NODE_TYPE_MEMSET,
      CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_EVENT_RECORD,
      CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
      CU_GRAPH_NODE_TYPE_GRAPH,      CU_GRAPH_NODE_TYPE_MEM_ALLOC,
      CU_GRAPH_NODE_TYPE_MEM_FREE};
  static_assert(std::size(kTypes) == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

// Whether the capture forbids this thread calls that are potentially unsafe.
bool forbids(const Capture& capture, CUstreamCaptureMode mode) {
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// Captures with streams that a legacy stream would have to wait for.
std::vector<std::shared_ptr<Capture>> impliedBy(const Stream& legacy) {
  std::vector<std::shared_ptr<Capture>> found;
  for (const auto& capture : active()) {
    const bool waits = std::any_of(
        capture->streams.begin(), capture->streams.end(),
        [&](const Stream* stream) { return &stream->exec == &legacy.exec && stream->blocking(); });
    if (waits) found.push_back(capture);
  }
  return found;
}

}  // namespace

std::mutex& captureMutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

CUresult beginOperation(Stream& stream, std::shared_ptr<Capture>* capture) {
  if (active_count.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard guard(captureMutex());
  if (stream.capture != nullptr) {
    *capture = stream.capture;
    return stream.capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  }
  if (stream.kind != StreamKind::kLegacy) return CUDA_SUCCESS;
  const auto implied = impliedBy(stream);
  for (const auto& one : implied) one->invalid = true;
  return implied.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool legacyIsImplied(Stream& stream) {
  if (stream.kind != StreamKind::kLegacy) return false;
  const std::lock_guard guard(captureMutex());
  return !impliedBy(stream).empty();
}

CUresult captureOperation(Stream& stream, Capture& capture, Operation operation, GraphNode** node) {
  const std::lock_guard guard(captureMutex());
  if (capture.over) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUgraphNodeType type = typeOf(operation);
  GraphNode* added = capture.graph->add(type, std::move(operation), stream.capture_tail);
  added->context = stream.exec.context.handle();
  stream.capture_tail = {added};
  if (node != nullptr) *node = added;
  return CUDA_SUCCESS;
}

CUresult checkUnsafe() {
  if (active_count.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard guard(captureMutex());
  bool forbidden = false;
  for (const auto& capture : active()) {
    if (!forbids(*capture, threadMode())) continue;
    capture->invalid = true;
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuseCapturing(Stream& stream) {
  if (active_count.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  {
    const std::lock_guard guard(captureMutex());
    if (stream.capture != nullptr) {
      const bool was_invalid = stream.capture->invalid;
      stream.capture->invalid = true;
      return was_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                         : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  std::shared_ptr<Capture> none;
  return beginOperation(stream, &none);
}

CUresult refuseCapturingIn(ExecContext& exec) {
  if (active_count.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard guard(captureMutex());
  bool any = false;
  for (const auto& capture : active()) {
    for (const Stream* stream : capture->streams) {
      if (&stream->exec != &exec) continue;
      capture->invalid = true;
      any = true;
    }
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuseCaptured(Event& event) {
  const std::lock_guard guard(captureMutex());
  if (!event.captured) return CUDA_SUCCESS;
  if (const auto capture = event.capture.lock(); capture != nullptr) capture->invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

bool isCaptured(Event& event) {
  const std::lock_guard guard(captureMutex());
  return event.captured;
}

void uncapture(Event& event) {
  const std::lock_guard guard(captureMutex());
  event.captured = false;
  event.capture.reset();
  event.capture_nodes.clear();
}

CUresult beginCapture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into,
                      std::vector<GraphNode*> after) {
  if (stream.kind == StreamKind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard guard(captureMutex());
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_id++;
  capture->given_graph = into != nullptr;
  capture->graph = into != nullptr ? std::move(into) : Graph::make();
  capture->streams = {&stream};
  stream.capture = capture;
  stream.capture_tail = std::move(after);
  active().push_back(std::move(capture));
  active_count.store(static_cast<int>(active().size()), std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult endCapture(Stream& stream, CUgraph* out) {
  if (out != nullptr) *out = nullptr;
  const std::lock_guard guard(captureMutex());
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  if (capture->origin != &stream) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  bool joined = true;
  for (const Stream* forked : capture->streams) {
    for (const GraphNode* last : forked->capture_tail) {
      joined = joined && capture->graph->reaches(stream.capture_tail, last);
    }
  }
  finish(*capture);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!capture->given_graph) capture->graph->keeper = capture->graph;
  if (out != nullptr) *out = capture->graph->handle();
  return CUDA_SUCCESS;
}

void dropStream(Stream& stream) {
  const std::lock_guard guard(captureMutex());
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->invalid = true;
  if (capture->origin == &stream) {
    finish(*capture);
  } else {
    capture->streams.erase(&stream);
  }
}

CUresult captureRecord(Stream& stream, Capture& capture, Event& event) {
  const std::lock_guard guard(captureMutex());
  if (capture.over) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.captured = true;
  event.capture = stream.capture;
  event.capture_nodes = stream.capture_tail;
  return CUDA_SUCCESS;
}

CUresult captureWait(Stream& stream, Event& event, bool external, bool* done) {
  *done = false;
  if (active_count.load(std::memory_order_acquire) == 0 && !event.captured) return CUDA_SUCCESS;
  const std::lock_guard guard(captureMutex());
  if (!event.captured || external) {
    if (stream.capture == nullptr) return CUDA_SUCCESS;
    if (stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (external) return CUDA_SUCCESS;
    stream.capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  const std::shared_ptr<Capture> from = event.capture.lock();
  if (from == nullptr || from->over) return CUDA_ERROR_CAPTURED_EVENT;
  if (from->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.kind == StreamKind::kLegacy) {
    from->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream.capture != nullptr && stream.capture != from) {
    stream.capture->invalid = from->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (stream.capture == nullptr) {
    stream.capture = from;
    from->streams.insert(&stream);
  }
  for (GraphNode* node : event.capture_nodes) {
    auto& tail = stream.capture_tail;
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
  *done = true;
  return CUDA_SUCCESS;
}

CUstreamCaptureMode exchangeThreadMode(CUstreamCaptureMode mode) {
  std::swap(mode, threadMode());
  return mode;
}

}  // namespace divvy::simgpu
