// How much of the devices this process uses: what is in flight, and how long they were busy.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "cuda/thread_streams.h"
#include "launch/duration_estimates.h"
#include "launch/interval_union.h"
#include "launch/stream_tracker.h"
#include "ledger/layout.h"

namespace divvy::interposer {

// What one metered call carries from begin() to end(). Lives on the caller's stack.
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
  std::uint64_t look_at = UINT64_MAX;  // when to call again; UINT64_MAX: nothing is in flight
  bool ended = false;                  // something in flight ended since the last call
};

// One per process, in static storage. Everything is in host nanoseconds (CLOCK_MONOTONIC); card
// time is converted by the grant's card_permille. Any thread; no lock that anybody waits for.
//
// Around each call that starts work and passed the gate while the gate was not open, by the thread
// that makes it, with calls of the driver's own marked as nested (Inside):
//     Ticket ticket;
//     meter.estimate(work, ticket);
//     meter.begin(work, ticket);
//     result = driver(...);
//     meter.end(ticket, result);
// Not for work that goes into a capturing stream. begin() and end() may call the driver (events).
//
// Events stand in the streams behind every 64 launches or 500 us of estimated work, before the
// first launch in an idle stream, and around single launches whose duration is wanted. Between two
// of them a stream was busy all the time if the launches were queued before the first event came;
// else the sum of the estimates says how much of the time it was, within what the host saw.
class UsageMeter {
 public:
  // How long one such piece of work is thought to take, alone.
  std::uint64_t estimate(const CallWork& work, MeteredCall& ticket);

  // After estimate() with the same work and ticket.
  void begin(const CallWork& work, MeteredCall& ticket);
  // `result` is the driver's answer; work that it refused is not in flight.
  void end(MeteredCall& ticket, CUresult result) {
    if (__builtin_expect(result != CUDA_SUCCESS || ticket.marks, 0)) endSlowly(ticket, result);
  }

  // The same in short, for a launch whose duration is known, in the stream that the thread launched
  // into last, with no mark due: plain() says whether it is one and changes nothing, count() stands
  // for begin(), takeBack() for end() where the driver refused it.
  bool plain(const CallWork& work, Counted& counted) const;
  void count(const Counted& counted);
  void takeBack(const Counted& counted);

  // The calling thread is about to wait (at the gate, or in a call that waits for the device): sees
  // to it that the end of what it launched will be seen, not only estimated.
  void mark();
  // The gate was open until now: what was launched meanwhile is unknown, and may still run.
  void resume();
  // After it: sees to it that the end of that will be seen, in all contexts, where the driver has
  // cuCtxRecordEvent. Calls the driver. False: not everywhere yet.
  bool watchOlder();

  // The most that is in flight on any device, in estimated time; needs no clock. Up to 50 us of
  // work, or 64 launches, of each thread and stream may be missing.
  std::uint64_t unsettled() const {
    return __builtin_expect(used_devices_.load(std::memory_order_relaxed) <= 1, 1)
               ? devices_[0].unsettled.load(std::memory_order_relaxed)
               : mostUnsettled();
  }
  // When what is in flight is estimated to end; in the past when nothing is.
  std::uint64_t inflightUntil() const;
  // The device that such work of the calling thread goes to, and the same two of that device alone.
  // One that is idle is not to wait for another one.
  unsigned deviceOf(const CallWork& work);
  std::uint64_t unsettledOn(unsigned device) const {
    return devices_[device].unsettled.load(std::memory_order_relaxed);
  }
  std::uint64_t untilOn(unsigned device) const {
    return devices_[device].until.load(std::memory_order_relaxed);
  }
  // Nothing is known to be in flight (by events where there are some).
  bool idle() const { return unsettled() == 0; }

  // Looks after what should have ended by `now`. Cheap, bounded; may call the driver.
  Settled settle(std::uint64_t now);

  // Time during which the ledger's device was seen busy with this process' work; only grows.
  std::uint64_t busy(unsigned device) const {
    return devices_[device].busy.load(std::memory_order_relaxed);
  }
  // Longest kernel or graph, by the estimates that were measured.
  std::uint64_t longest() const { return longest_.load(std::memory_order_relaxed); }
  // Launches that were charged by estimate only.
  std::uint64_t unmetered() const { return unmetered_.load(std::memory_order_relaxed); }
  // Times that work which ended was accounted.
  std::uint64_t settles() const { return settles_.load(std::memory_order_relaxed); }

  // A context that was made on the ledger's device, or lives on after forgetContext().
  void noteContext(CUcontext context, unsigned device) { book_.note(context, device); }
  // To be called before the driver's call that may end the context (null: any), or the stream.
  void forgetContext(CUcontext context);
  void forgetStream(CUstream stream);
  // In the child of a fork, before anything else.
  void forgetAfterFork();
  // A capture is counted as open and about to begin: returns when no thread of ours is recording
  // an event that could land in it (bounded).
  void makeWayForCapture();

 private:
  friend class OpeningElsewhere;  // of the tests

  static constexpr std::uint32_t kMaxLaunches = 64;      // behind which a mark stands at last
  static constexpr std::uint64_t kWatchedCopy = 20'000;  // a synchronous one; time of the card
  static constexpr std::uint64_t kOlderWork = 1'000;     // stands for what nobody metered; likewise

  struct alignas(64) Device {
    std::atomic<std::uint64_t> unsettled{0};
    std::atomic<std::uint64_t> until{0};
    std::atomic<std::uint64_t> busy{0};
    std::atomic<std::uint64_t> loose_sum{0};  // launched without events
    std::atomic<std::uint32_t> loose_launches{0};
    std::atomic<bool> overdue{false};  // something should have ended, and did not
    std::atomic<bool> uniting{false};  // guards what follows
    IntervalUnion united;
    // Stretches during which it was certainly busy, and the estimates of what ran there: where
    // there were no gaps the two are to be equal, which tells what estimates of streams side by
    // side miss.
    IntervalUnion certain;
    std::uint64_t window_start = 0;
    std::uint64_t window_certain = 0;
    std::uint64_t window_sum = 0;
    std::uint64_t took_permille = 0;  // of the estimates, lately; 0: there were gaps
  };
  // One look at one context.
  struct SettlePass;

  std::uint64_t card(std::uint64_t nanoseconds) const {
    return nanoseconds * 1000 / permille_.load(std::memory_order_relaxed);
  }
  std::uint64_t mostUnsettled() const;
  std::uint64_t firstGuess(const CallWork& work) const;
  static std::uint32_t samplingGap(ThreadStreams& thread);
  bool wantsSample(ThreadStreams& thread, const CallWork& work, const MeteredCall& ticket) const;

  // What a slot of the thread for such a stream is stamped with while it is valid.
  std::uint64_t stampOf(const ThreadStreams& thread, std::uint64_t name) const;
  // begin(): the calling thread's slot for the work's stream.
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
  struct MarkerContext {  // what a mark tells besides the sums
    bool fresh = false;
    bool single_kernel = false;
    std::uint64_t call = 0;
    std::uint64_t made = 0;      // when the work was launched, where the call waited for its end
    bool late = false;           // recorded by whoever settles, long after the launches
    std::uint32_t launches = 0;  // then: these, and their estimates, and no later ones
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
  std::atomic<std::uint32_t> late_marks_{0};     // being recorded right now
  std::atomic<std::uint64_t> usual_call_{3000};  // of the driver's launch calls
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
