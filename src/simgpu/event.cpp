#include "event.h"

#include "engine_executor.h"

namespace divvy::simgpu {

CUresult findEvent(CUevent handle, Event** out) {
  *out = EventHandles::get().find(handle);
  if (*out == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (*out)->exec.context.sticky();
}

bool eventEnded(Event& event) {
  const std::shared_ptr<Completion> last = event.last();
  if (last == nullptr || last->done) return true;
  const OpRef ref = last->ref;
  return ref != 0 && hasEnded(event.exec, ref);
}

Work recordWork(Event& event) {
  Work work;
  work.task.completion = std::make_shared<Completion>();
  event.recorded(work.task.completion);
  return work;
}

Work waitWork(ExecContext& exec, Event& event) {
  Work work;
  const std::shared_ptr<Completion> last = event.last();
  if (last == nullptr || last->done) return work;
  const OpRef ref = last->ref;
  if (ref != 0 && &event.exec.device == &exec.device) {
    work.after.push_back(ref);
    return work;
  }
  // Another card's clockwork knows nothing of this one's: our own thread carries the news.
  {
    EngineLock lock(event.exec.device.engine);
    lock.line().wanted(ref);
  }
  work.task.poll = [last] { return last->done ? Polled::kOver : Polled::kNotYet; };
  work.task.poll_end = [last] { return last->end_ns.load(); };
  return work;
}

}  // namespace divvy::simgpu
