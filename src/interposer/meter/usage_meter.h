// How much of the devices this process uses: the work in flight, and how long devices were busy.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "cuda/thread_streams.h"
#include "meter/device_time.h"
#include "meter/duration_estimates.h"
#include "meter/event_recorder.h"
#include "meter/process_usage.h"
#include "meter/stream_slots.h"
#include "meter/stream_tracker.h"

namespace divvy::interposer {

// State of a metered call from begin() to end(). Lives on the caller's stack.
struct MeteredCall {
  std::uint64_t estimate = 0;  // host ns; in flight from begin() on
  Estimate* known = nullptr;
  StreamSlot* slot = nullptr;
  std::uint64_t called = 0;  // when the driver was called, where that matters
  bool flushed = false;
  bool marks = false;  // an event follows the launch
  bool kernel = false;
  bool waits = false;  // the driver's call returns when the work is done
};

// A launch that is only counted, from plain() to the driver's answer.
struct Counted {
  StreamSlot* slot;
  Estimate* known;
  std::uint64_t estimate;
};

// One per process, in static storage. All times are host nanoseconds (CLOCK_MONOTONIC); device time
// is converted by the grant's card_permille. Any thread. Locks are tried, not waited for.
//
// A thread that makes a call which starts work, and that found the gate not open, uses it like
// this. The driver's own calls in between are marked as nested, as by DriverCallScope:
//     MeteredCall ticket;
//     meter.estimate(work, ticket);
//     meter.begin(work, ticket);
//     result = driver(...);
//     meter.end(ticket, result);
// Not for work in a capturing stream. begin() and end() may call the driver for events.
//
// Events are recorded in the streams behind every 64 launches or 500 us of estimated work, and
// before the first launch in an idle stream. They are also recorded around single launches that are
// to be measured. If the launches were queued before the first of two events came, the stream was
// busy from that event to the second. Otherwise the sum of the estimates determines for how much of
// that time it was busy, within the limits that the host observed.
class UsageMeter {
 public:
  // Returns the estimated duration of one such piece of work that runs alone.
  std::uint64_t estimate(const CallWork& work, MeteredCall& ticket);

  // Counts the work as in flight. To be called after estimate() with the same work and ticket.
  void begin(const CallWork& work, MeteredCall& ticket);
  // `result` is the driver's answer. Work that the driver refused is not in flight.
  void end(MeteredCall& ticket, CUresult result) {
    if (__builtin_expect(result != CUDA_SUCCESS || ticket.marks, 0)) endSlowly(ticket, result);
  }

  // A short form for a launch of known duration, in the stream of the thread's last launch, with no
  // mark due. plain() returns whether the launch is such a launch, without effect. count() replaces
  // begin(). takeBack() replaces end() for a launch that the driver refused.
  bool plain(const CallWork& work, Counted& counted) const;
  void count(const Counted& counted);
  void takeBack(const Counted& counted);

  // To be called before the calling thread waits at the gate or in a call that waits for the
  // device. Records marks, so that the end of the thread's launches is observed and not only
  // estimated.
  void mark();
  // To be called when the gate was open until now. Work launched meanwhile is unknown and may still
  // run.
  void resume();
  // To be called after resume(). Records an event behind the unknown work in all contexts, if the
  // driver has cuCtxRecordEvent, so that its end is observed. Calls the driver. Returns false if a
  // context is still to be done.
  bool watchOlder();

  // The process's work in flight, and its used time.
  const ProcessUsage& usage() const { return usage_; }
  // Returns the device of such work of the calling thread.
  unsigned deviceOf(const CallWork& work);

  // Settles the work that should have ended by `now`. Cheap and bounded; may call the driver.
  Settled settle(std::uint64_t now);

  // Notes a context that was created on the ledger's device, or that outlives forgetContext().
  void noteContext(CUcontext context, unsigned device) { book_.note(context, device); }
  // To be called before the driver's call that may end the context (null: any context) or the
  // stream.
  void forgetContext(CUcontext context);
  void forgetStream(CUstream stream);
  // To be called in the child of a fork before any other member.
  void forgetAfterFork();
  // To be called after a capture is counted as open and before it begins. Returns when no thread of
  // this library records an event that could become part of the capture, or after a bounded wait.
  void makeWayForCapture();

 private:
  friend class OpeningElsewhere;  // of the tests

  static constexpr std::uint32_t kMaxLaunches = 64;  // a mark follows at the latest after as many
  static constexpr std::uint64_t kWatchedCopy = 20'000;  // a synchronous copy; device time

  std::uint64_t firstGuess(const CallWork& work) const;
  bool wantsSample(ThreadStreams& thread, const CallWork& work, const MeteredCall& ticket) const;
  bool prepare(StreamSlot& slot, bool sample);
  void commit(StreamSlot& slot, bool sample, MeteredCall& ticket);
  void endSlowly(MeteredCall& ticket, CUresult result);
  void endContext(ContextRecord& context);

  ProcessUsage usage_;
  DurationEstimates estimates_;
  StreamTracker book_;
  DeviceTime time_;
  EventRecorder marks_{usage_, time_};
  StreamSlots slots_{
      StreamSlots::Parts{.usage = usage_, .time = time_, .tracker = book_, .marks = marks_}};
  std::atomic<std::uint64_t> usual_call_{3000};  // duration of the driver's launch calls
};

// Returns the number of launches from one that is measured alone to the next.
std::uint32_t samplingGap(ThreadStreams& thread);

// ---- the part of a launch that every launch pays for -------------------------------------------

inline std::uint64_t UsageMeter::estimate(const CallWork& work, MeteredCall& ticket) {
  ticket.known = work.kind == WorkKind::kMemop ? nullptr : estimates_.at(work.key);
  const std::uint64_t duration = ticket.known == nullptr ? 0 : ticket.known->duration();
  ticket.estimate = __builtin_expect(duration != 0, 1) ? duration : firstGuess(work);
  return ticket.estimate;
}

inline bool UsageMeter::wantsSample(ThreadStreams& thread, const CallWork& work,
                                    const MeteredCall& ticket) const {
  if (ticket.known == nullptr) return false;
  if (__builtin_expect(ticket.known->wanted(), 0)) return true;
  if (__builtin_expect(work.synchronous, 0) && ticket.estimate >= time_.onHost(kWatchedCopy))
    return true;
  if (__builtin_expect(thread.until_sample-- > 1, 1)) return false;
  thread.until_sample = samplingGap(thread);
  return true;
}

inline unsigned UsageMeter::deviceOf(const CallWork& work) {
  const std::uint32_t used = usage_.usedDevices();
  if (__builtin_expect((used & (used - 1)) == 0, 1)) {
    return used == 0 ? 0 : static_cast<unsigned>(__builtin_ctz(used));
  }
  return slots_.slotFor(divvy_meter, work).device;
}

__attribute__((always_inline)) inline bool UsageMeter::plain(const CallWork& work,
                                                             Counted& counted) const {
  const ThreadStreams& thread = divvy_meter;
  StreamSlot* slot = thread.last;
  Estimate* known = estimates_.known(work.key);
  if (slot == nullptr || known == nullptr || known->wanted() || thread.until_sample <= 1) {
    return false;
  }
  counted = {slot, known, known->duration()};
  return counted.estimate != 0 && slot->name == streamName(work) &&
         slot->stamp == slots_.stampOf(thread, slot->name) &&
         slot->launches - 1 < kMaxLaunches - 2 && slot->sum + counted.estimate < time_.flushAt();
}

__attribute__((always_inline)) inline void UsageMeter::count(const Counted& counted) {
  StreamSlot& slot = *counted.slot;
  --divvy_meter.until_sample;
  if (slot.alike != counted.known) slot.alike = nullptr;
  slot.sum += counted.estimate;
  ++slot.launches;
}

inline void UsageMeter::takeBack(const Counted& counted) {
  counted.slot->sum -= counted.estimate;
  --counted.slot->launches;
}

inline void UsageMeter::begin(const CallWork& work, MeteredCall& ticket) {
  ThreadStreams& thread = divvy_meter;
  StreamSlot& slot = slots_.slotFor(thread, work);
  const bool sample = wantsSample(thread, work, ticket);
  ticket.slot = &slot;
  ticket.kernel = work.kind == WorkKind::kKernel || work.kind == WorkKind::kGraph;
  ticket.waits = work.synchronous;
  bool opened = false;
  if (slot.launches == 0 || sample) opened = prepare(slot, sample);
  slot.alike = slot.launches == 0 || slot.alike == ticket.known ? ticket.known : nullptr;
  slot.sum += ticket.estimate;
  ++slot.launches;
  if (opened || sample || slot.launches >= kMaxLaunches || slot.sum >= time_.flushAt()) {
    commit(slot, sample, ticket);
  }
}

}  // namespace divvy::interposer
