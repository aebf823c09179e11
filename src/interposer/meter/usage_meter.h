// How much of the devices this process uses: the work in flight, and how long devices were busy.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "cuda/thread_streams.h"
#include "ledger/layout.h"
#include "meter/duration_estimates.h"
#include "meter/interval_union.h"
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

struct Settled {
  std::uint64_t look_at = UINT64_MAX;  // time of the next call; UINT64_MAX: nothing is in flight
  bool ended = false;                  // some work in flight ended since the last call
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

  // Returns the largest estimated time in flight of any device. Reads no clock. It may lack up to
  // 50 us of work or 64 launches of each thread and stream.
  std::uint64_t unsettled() const {
    return __builtin_expect(used_devices_.load(std::memory_order_relaxed) <= 1, 1)
               ? devices_[0].unsettled.load(std::memory_order_relaxed)
               : mostUnsettled();
  }
  // Returns the estimated end of the work in flight; in the past if there is none.
  std::uint64_t inflightUntil() const;
  // deviceOf() returns the device of such work of the calling thread. unsettledOn() and untilOn()
  // return the same two values for that device alone. An idle device is not to wait for another
  // device.
  unsigned deviceOf(const CallWork& work);
  std::uint64_t unsettledOn(unsigned device) const {
    return devices_[device].unsettled.load(std::memory_order_relaxed);
  }
  std::uint64_t untilOn(unsigned device) const {
    return devices_[device].until.load(std::memory_order_relaxed);
  }
  // Returns whether no work is known to be in flight, by events where there are events.
  bool idle() const { return unsettled() == 0; }

  // Settles the work that should have ended by `now`. Cheap and bounded; may call the driver.
  Settled settle(std::uint64_t now);

  // Returns the time during which the ledger's device was observed busy with this process's work.
  // The value only grows.
  std::uint64_t busy(unsigned device) const {
    return devices_[device].busy.load(std::memory_order_relaxed);
  }
  // Returns the duration of the longest kernel or graph, by measured estimates.
  std::uint64_t longest() const { return longest_.load(std::memory_order_relaxed); }
  // Returns the number of launches that were charged by estimate only.
  std::uint64_t unmetered() const { return unmetered_.load(std::memory_order_relaxed); }
  // Returns how many times work that ended was accounted.
  std::uint64_t settles() const { return settles_.load(std::memory_order_relaxed); }

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
  static constexpr std::uint64_t kOlderWork = 1'000;     // estimate of unmetered work; device time

  struct alignas(64) Device {
    std::atomic<std::uint64_t> unsettled{0};
    std::atomic<std::uint64_t> until{0};
    std::atomic<std::uint64_t> busy{0};
    std::atomic<std::uint64_t> loose_sum{0};  // launched without events
    std::atomic<std::uint32_t> loose_launches{0};
    std::atomic<bool> overdue{false};  // some work should have ended and did not
    std::atomic<bool> uniting{false};  // guards the members below
    IntervalUnion united;
    // Intervals during which the device was certainly busy, and the estimates of the work that ran
    // in them. Without gaps the two should be equal. Their ratio shows what estimates of concurrent
    // streams miss.
    IntervalUnion certain;
    std::uint64_t window_start = 0;
    std::uint64_t window_certain = 0;
    std::uint64_t window_sum = 0;
    std::uint64_t took_permille = 0;  // of the estimates, recently; 0: there were gaps
  };
  // One examination of one context.
  struct SettlePass;

  std::uint64_t card(std::uint64_t nanoseconds) const {
    return nanoseconds * 1000 / permille_.load(std::memory_order_relaxed);
  }
  std::uint64_t mostUnsettled() const;
  std::uint64_t firstGuess(const CallWork& work) const;
  static std::uint32_t samplingGap(ThreadStreams& thread);
  bool wantsSample(ThreadStreams& thread, const CallWork& work, const MeteredCall& ticket) const;

  // Returns the stamp of a valid slot of the thread for such a stream.
  std::uint64_t stampOf(const ThreadStreams& thread, std::uint64_t name) const;
  // For begin(): returns the calling thread's slot for the work's stream.
  StreamSlot& slotFor(ThreadStreams& thread, const CallWork& work);
  StreamSlot& otherSlot(ThreadStreams& thread, const CallWork& work, std::uint64_t name,
                        std::uint64_t stamp);
  void openSlot(StreamSlot& slot, const CallWork& work);
  void readScale();
  bool prepare(StreamSlot& slot, bool sample);
  void commit(StreamSlot& slot, bool sample, MeteredCall& ticket);
  void flush(StreamSlot& slot, std::uint64_t now);
  void flushLoose(StreamSlot& slot, std::uint64_t now);
  std::uint64_t launchInto(Device& device, std::uint64_t estimate, std::uint64_t now);
  void endSlowly(MeteredCall& ticket, CUresult result);
  void takeBack(MeteredCall& ticket);
  bool watchOlder(ContextRecord& context);
  bool recordOlder(ContextRecord& context);

  // Marks.
  struct MarkerContext {  // data of a mark besides the sums
    bool fresh = false;
    bool single_kernel = false;
    std::uint64_t call = 0;
    std::uint64_t made = 0;      // when the work was launched, if the call waited for its end
    bool late = false;           // recorded by the settling thread, long after the launches
    std::uint32_t launches = 0;  // if late: the launches that it covers, and no later launches
    std::uint64_t sum = 0;
  };
  bool recordMark(StreamRecord& record, const MarkerContext& behind);
  bool putMark(StreamRecord& record, const MarkerContext& behind);

  // settle().
  void settleContext(ContextRecord& context, std::uint64_t now, Settled* out);
  void settleStream(SettlePass& look, StreamRecord& record);
  void settleMark(SettlePass& look, StreamRecord& record, const EventMarker& mark, bool seen);
  void settleTail(SettlePass& look, StreamRecord& record, bool ends);
  bool markLate(StreamRecord& record, std::uint32_t launches);
  void settleOlder(SettlePass& look);
  void settleLoose(Device& device, std::uint64_t now, Settled* out);
  void correct(Device& device, std::uint64_t now);
  bool timeOf(SettlePass& look, StreamRecord& record, CUevent event, std::uint64_t* at);
  void learn(const EventMarker& mark, std::uint64_t covered, bool exact);
  void weigh(Device& device, std::uint64_t start, std::uint64_t end, std::uint64_t sum);
  std::uint64_t cover(Device& device, std::uint64_t start, std::uint64_t end, std::uint64_t amount);
  void keep(ContextRecord& context, StreamRecord& record, CUevent event);
  void endContext(ContextRecord& context);

  Device devices_[ledger::kMaxDevices];
  DurationEstimates estimates_;
  StreamTracker book_;
  std::atomic<std::uint32_t> permille_{1000};
  std::atomic<std::uint64_t> flush_at_{50'000};
  std::atomic<std::uint32_t> epoch_{
      1};  // grows when slots of threads may point to the wrong stream
  std::atomic<std::uint32_t> round_{1};          // grows with resume()
  std::atomic<std::uint32_t> used_devices_{0};   // bits
  std::atomic<std::uint32_t> late_marks_{0};     // being recorded at this moment
  std::atomic<std::uint64_t> usual_call_{3000};  // duration of the driver's launch calls
  std::atomic<std::uint64_t> longest_{0};
  std::atomic<std::uint64_t> unmetered_{0};
  std::atomic<std::uint64_t> settles_{0};
};

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
  if (__builtin_expect(work.synchronous, 0) && ticket.estimate >= card(kWatchedCopy)) return true;
  if (__builtin_expect(thread.until_sample-- > 1, 1)) return false;
  thread.until_sample = samplingGap(thread);
  return true;
}

inline std::uint64_t UsageMeter::stampOf(const ThreadStreams& thread, std::uint64_t name) const {
  return std::uint64_t{epoch_.load(std::memory_order_relaxed)} << 32 |
         (name <= kPerThreadStream ? thread.context_epoch : 0);
}

inline StreamSlot& UsageMeter::slotFor(ThreadStreams& thread, const CallWork& work) {
  const std::uint64_t name = streamName(work);
  const std::uint64_t stamp = stampOf(thread, name);
  StreamSlot* slot = thread.last;
  if (__builtin_expect(slot != nullptr && slot->name == name && slot->stamp == stamp, 1)) {
    return *slot;
  }
  return otherSlot(thread, work, name, stamp);
}

inline unsigned UsageMeter::deviceOf(const CallWork& work) {
  const std::uint32_t used = used_devices_.load(std::memory_order_relaxed);
  if (__builtin_expect((used & (used - 1)) == 0, 1)) {
    return used == 0 ? 0 : static_cast<unsigned>(__builtin_ctz(used));
  }
  return slotFor(divvy_meter, work).device;
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
         slot->stamp == stampOf(thread, slot->name) && slot->launches - 1 < kMaxLaunches - 2 &&
         slot->sum + counted.estimate < flush_at_.load(std::memory_order_relaxed);
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
  StreamSlot& slot = slotFor(thread, work);
  const bool sample = wantsSample(thread, work, ticket);
  ticket.slot = &slot;
  ticket.kernel = work.kind == WorkKind::kKernel || work.kind == WorkKind::kGraph;
  ticket.waits = work.synchronous;
  bool opened = false;
  if (slot.launches == 0 || sample) opened = prepare(slot, sample);
  slot.alike = slot.launches == 0 || slot.alike == ticket.known ? ticket.known : nullptr;
  slot.sum += ticket.estimate;
  ++slot.launches;
  if (opened || sample || slot.launches >= kMaxLaunches ||
      slot.sum >= flush_at_.load(std::memory_order_relaxed)) {
    commit(slot, sample, ticket);
  }
}

}  // namespace divvy::interposer
