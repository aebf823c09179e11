// Events: marks in streams that can be waited for, asked after and timed.
#pragma once

#include "abi/cuda_types.h"

#include <memory>
#include <mutex>
#include <vector>

#include "engine.h"
#include "engine_handles.h"

namespace divvy::simgpu {

class Capture;
struct GraphNode;
class Stream;

class Event {
 public:
  Event(ExecContext& e, unsigned f) : exec(e), flags(f) {}

  ExecContext& exec;
  const unsigned flags;

  bool timed() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }

  // The last record; nullptr: never recorded.
  std::shared_ptr<Completion> last() const {
    const std::lock_guard guard(mutex_);
    return last_;
  }
  void recorded(std::shared_ptr<Completion> completion) {
    const std::lock_guard guard(mutex_);
    last_ = std::move(completion);
  }

  // Guarded by captureMutex(): set while the last record was made in a capturing stream.
  bool captured = false;
  std::weak_ptr<Capture> capture;
  std::vector<GraphNode*> capture_nodes;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Completion> last_;
};

using EventHandles = HandleSet<Event, CUevent>;

// A live event whose context is healthy, or its error.
CUresult findEvent(CUevent handle, Event** out);
// True when the event's last record has ended; a never recorded one has.
bool eventEnded(Event& event);
// The work that records the event; the event refers to it from now on.
Work recordWork(Event& event);
// The work that waits for the event's last record.
Work waitWork(ExecContext& exec, Event& event);

}  // namespace divvy::simgpu
