// Stream capture: streams that record a graph instead of running, and calls that are forbidden
// meanwhile.
#pragma once

#include "abi/cuda_types.h"

#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "cuda/graph/graph.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {

// One capture sequence, from begin to end. Guarded by captureMutex().
class Capture {
 public:
  Stream* origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  // that began it
  std::uint64_t id = 0;    // never used twice
  std::shared_ptr<Graph> graph;
  bool given_graph = false;  // cuStreamBeginCaptureToGraph: the program owns it
  bool invalid = false;
  bool over = false;
  std::set<Stream*> streams;  // the origin and streams forked from it
};

// One for the process: captures span threads and streams, and are rare.
std::mutex& captureMutex();

// Where an operation that is put into the stream now goes: it runs (nullptr), or is added to
// *capture. Errors: the capture was invalidated before; or the legacy stream would wait for a
// capturing one, which invalidates that.
CUresult beginOperation(Stream& stream, std::shared_ptr<Capture>* capture);
// Whether the stream is a legacy one that would wait for a capturing one; nothing is invalidated.
bool legacyIsImplied(Stream& stream);
// Adds the operation to the stream's capture, after what the stream captured last.
CUresult captureOperation(Stream& stream, Capture& capture, Operation operation,
                          GraphNode** node = nullptr);

// For calls that block or allocate and so could deadlock or break a capture ("potentially unsafe"):
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED after invalidating the captures that forbid them to this
// thread, by their mode and the thread's own (cuThreadExchangeStreamCaptureMode).
CUresult checkUnsafe();
// For calls without a meaning on a capturing stream: the same error, and its capture is
// invalidated.
CUresult refuseCapturing(Stream& stream);
// For calls about all of a context: the same for every capture in it.
CUresult refuseCapturingIn(ExecContext& exec);
// For calls about an event: CUDA_ERROR_CAPTURED_EVENT when its last record was captured.
CUresult refuseCaptured(Event& event);
bool isCaptured(Event& event);
// The event is recorded again, outside of any capture.
void uncapture(Event& event);

CUresult beginCapture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into,
                      std::vector<GraphNode*> after);
CUresult endCapture(Stream& stream, CUgraph* out);
// The stream ceases to exist.
void dropStream(Stream& stream);

CUresult captureRecord(Stream& stream, Capture& capture, Event& event);
// The stream waits for an event, either of which may be captured. *done: nothing is left to do.
CUresult captureWait(Stream& stream, Event& event, bool external, bool* done);

CUstreamCaptureMode exchangeThreadMode(CUstreamCaptureMode mode);

}  // namespace divvy::simgpu
