// Events: marks in streams that can be waited for, asked after and timed.
#pragma once

#include "abi/cuda_types.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/engine/engine.h"
#include "cuda/engine/engine_handles.h"

namespace divvy::simgpu {

class Capture;
struct GraphNode;
class Stream;

class Event {
 public:
  Event(ExecContext& e, unsigned f) : exec(e), flags(f) {}
  // One that other processes see, too. Its maker takes it away from all of them.
  Event(ExecContext& e, unsigned f, const SharedEventName& name, bool is_maker)
      : exec(e), flags(f), shared(name), is_maker_(is_maker) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  ExecContext& exec;
  const unsigned flags;
  const SharedEventName shared;  // without id: of this process alone

  bool timed() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
  bool isShared() const { return shared.id != 0; }

  // The last record of an event that is not shared; nullptr: never recorded.
  std::shared_ptr<Completion> last() const {
    const std::lock_guard guard(mutex_);
    return last_;
  }
  void recorded(std::shared_ptr<Completion> completion) {
    const std::lock_guard guard(mutex_);
    last_ = std::move(completion);
  }

  // The stream of the last record; of all of a context none.
  std::atomic<std::uint64_t> recorded_in{kNoStream};
  static constexpr std::uint64_t kNoStream = ~std::uint64_t{0};

  // Guarded by captureMutex(): set while the last record was made in a capturing stream.
  bool captured = false;
  std::weak_ptr<Capture> capture;
  std::vector<GraphNode*> capture_nodes;

 private:
  const bool is_maker_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<Completion> last_;
};

using EventHandles = HandleSet<Event, CUevent>;

// A live event with a healthy context, or its error.
CUresult findEvent(CUevent handle, Event** out);
// Gives a new event to its context and to the program.
CUevent addEvent(std::unique_ptr<Event> event);
// True when the event's last record has ended; a never recorded one has.
bool eventEnded(Event& event);
// Waits until it has. The context's state.
CUresult waitForEvent(Event& event);
// The work that records the event; the event refers to it from now on.
Work recordWork(Event& event);
// The work that waits for the event's last record.
Work waitWork(ExecContext& exec, Event& event);

}  // namespace divvy::simgpu
