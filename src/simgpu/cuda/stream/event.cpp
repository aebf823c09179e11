#include "cuda/stream/event.h"

#include <algorithm>

#include "cuda/engine/engine_executor.h"

namespace divvy::simgpu {
namespace {

// Interval at which a waiter checks the work of another process, which cannot wake it.
constexpr Nanos kShortestAsk = 100'000;
constexpr Nanos kLongestAsk = 1'000'000;

OpRef lastRecord(EngineLock& lock, const Event& event) {
  const SharedEvent* shared = lock.findEvent(event.shared);
  return shared == nullptr ? 0 : shared->ref;
}

// Returns true if the operation is over. Otherwise sets *ripe to whether it has ended, belongs to
// this process, and only its effect is missing.
bool sharedIsOver(EngineLock& lock, OpRef ref, bool* ripe) {
  if (lock.isOver(ref)) return true;
  *ripe = lock.isOurs(ref) && lock.line().view(ref).state == OpState::kDone;
  return false;
}

bool sharedEnded(Event& event) {
  const auto observe = [&](bool* ripe) {
    EngineLock lock(event.exec.device.engine);
    return sharedIsOver(lock, lastRecord(lock, event), ripe);
  };
  bool ripe = false;
  if (observe(&ripe)) return true;
  if (!ripe) return false;
  Executor::get().drain(false);
  return observe(&ripe);
}

CUresult waitForShared(Event& event) {
  Executor& executor = Executor::get();
  EngineFile& engine = event.exec.device.engine;
  OpRef ref = 0;
  {
    EngineLock lock(engine);
    ref = lastRecord(lock, event);
  }
  for (;;) {
    if (const CUresult state = event.exec.context.sticky(); state != CUDA_SUCCESS) return state;
    const std::uint32_t seen = executor.progress().value();
    bool ripe = false;
    Nanos observe = 0;
    {
      EngineLock lock(engine);
      if (sharedIsOver(lock, ref, &ripe)) return event.exec.context.sticky();
      observe = std::clamp(lock.line().endBound(ref), lock.now() + kShortestAsk,
                           lock.now() + kLongestAsk);
    }
    if (ripe) {
      executor.drain(true);
    } else {
      executor.progress().wait(seen, observe);
    }
  }
}

// The effect of another process's operation must be complete there, not only its time over. So our
// own thread checks.
Work waitForForeign(EngineFile& engine, const SharedEventName& name, OpRef ref) {
  Work work;
  work.task.poll = [&engine, ref] {
    EngineLock lock(engine);
    return lock.isOver(ref) ? Polled::kOver : Polled::kNotYet;
  };
  work.task.poll_end = [&engine, name, ref] {
    EngineLock lock(engine);
    const SharedEvent* event = lock.findEvent(name);
    return event != nullptr && event->ref == ref ? event->end_ns : 0;
  };
  return work;
}

Work waitForSharedWork(ExecContext& exec, const Event& event) {
  Work work;
  EngineFile& engine = event.exec.device.engine;
  OpRef ref = 0;
  bool ours = false;
  {
    EngineLock lock(engine);
    ref = lastRecord(lock, event);
    if (lock.isOver(ref)) return work;
    ours = lock.isOurs(ref) && &event.exec.device == &exec.device;
  }
  if (!ours) return waitForForeign(engine, event.shared, ref);
  work.after.push_back(ref);
  return work;
}

}  // namespace

Event::~Event() {
  if (!is_maker_) return;
  EngineLock lock(exec.device.engine);
  lock.dropEvent(shared);
}

CUresult findEvent(CUevent handle, Event** out) {
  *out = EventHandles::get().find(handle);
  if (*out == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (*out)->exec.context.sticky();
}

CUevent addEvent(std::unique_ptr<Event> event) {
  const std::lock_guard guard(event->exec.mutex);
  event->exec.events.insert(event.get());
  return EventHandles::get().add(event.release());
}

bool eventEnded(Event& event) {
  if (event.isShared()) return sharedEnded(event);
  const std::shared_ptr<Completion> last = event.last();
  if (last == nullptr || last->done) return true;
  const OpRef ref = last->ref;
  return ref != 0 && hasEnded(event.exec, ref);
}

CUresult waitForEvent(Event& event) {
  if (event.isShared()) return waitForShared(event);
  const std::shared_ptr<Completion> last = event.last();
  if (last == nullptr || last->done) return CUDA_SUCCESS;
  return waitFor(event.exec, last->ref);
}

Work recordWork(Event& event) {
  Work work;
  if (event.isShared()) {
    work.task.records = event.shared;
    // Other processes wait for it unseen, so it must be processed as soon as it ends.
    work.task.effect = [] { return CUDA_SUCCESS; };
    return work;
  }
  work.task.completion = std::make_shared<Completion>();
  event.recorded(work.task.completion);
  return work;
}

Work waitWork(ExecContext& exec, Event& event) {
  if (event.isShared()) return waitForSharedWork(exec, event);
  Work work;
  const std::shared_ptr<Completion> last = event.last();
  if (last == nullptr || last->done) return work;
  const OpRef ref = last->ref;
  if (ref != 0 && &event.exec.device == &exec.device) {
    work.after.push_back(ref);
    return work;
  }
  // Timelines of different cards are independent, so our own thread passes the end on.
  {
    EngineLock lock(event.exec.device.engine);
    lock.line().requestAttention(ref);
  }
  work.task.poll = [last] { return last->done ? Polled::kOver : Polled::kNotYet; };
  work.task.poll_end = [last] { return last->end_ns.load(); };
  return work;
}

}  // namespace divvy::simgpu
