// Which stream a thread launches into: finds the thread's slot, and adds a slot's launches to the
// account that all threads share.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "cuda/thread_streams.h"
#include "meter/device_time.h"
#include "meter/event_recorder.h"
#include "meter/process_usage.h"
#include "meter/stream_tracker.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread, for slots of its own.
class StreamSlots {
 public:
  struct Parts {  // of the usage meter
    ProcessUsage& usage;
    DeviceTime& time;
    StreamTracker& tracker;
    EventRecorder& marks;
  };
  constexpr explicit StreamSlots(const Parts& parts)
      : usage_(parts.usage), time_(parts.time), tracker_(parts.tracker), marks_(parts.marks) {}

  // Returns the stamp of a valid slot of the thread for such a stream.
  std::uint64_t stampOf(const ThreadStreams& thread, std::uint64_t name) const {
    return std::uint64_t{epoch_.load(std::memory_order_relaxed)} << 32 |
           (name <= kPerThreadStream ? thread.context_epoch : 0);
  }
  // Returns the calling thread's slot for the work's stream. May call the driver.
  StreamSlot& slotFor(ThreadStreams& thread, const CallWork& work) {
    const std::uint64_t name = streamName(work);
    const std::uint64_t stamp = stampOf(thread, name);
    StreamSlot* slot = thread.last;
    if (__builtin_expect(slot != nullptr && slot->name == name && slot->stamp == stamp, 1)) {
      return *slot;
    }
    return otherSlot(thread, work, name, stamp);
  }
  // Makes every slot of every thread invalid: it may point to the wrong stream.
  void invalidate(std::memory_order order) { epoch_.fetch_add(1, order); }

  // Adds the slot's launches to its stream's account, as in flight from `now` on.
  void flush(StreamSlot& slot, std::uint64_t now);
  // Takes one flushed launch with this estimate back.
  void takeBack(const StreamSlot& slot, std::uint64_t estimate);

 private:
  StreamSlot& otherSlot(ThreadStreams& thread, const CallWork& work, std::uint64_t name,
                        std::uint64_t stamp);
  void open(StreamSlot& slot, const CallWork& work);

  ProcessUsage& usage_;
  DeviceTime& time_;
  StreamTracker& tracker_;
  EventRecorder& marks_;
  std::atomic<std::uint32_t> epoch_{1};
};

}  // namespace divvy::interposer
