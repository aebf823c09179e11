// The streams in which work was metered, by context, and the marks in these streams.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "meter/event_pool.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

class Estimate;

// An event in a stream, behind some launches.
struct EventMarker {
  CUevent event;
  std::uint64_t recorded;  // when its recording began; host ns
  std::uint64_t made;      // when the last of the launches had been made
  std::uint64_t call;      // for a single launch: duration of the driver's call
  std::uint64_t sum;       // of the launches' estimates; in flight until the mark is settled
  std::uint64_t due;       // estimated end of the launches
  Estimate* alike;         // of all launches, if they are alike
  std::uint32_t launches;  // since the previous mark
  bool single_kernel;      // the single launch is a kernel or graph
  bool fresh;              // the stream was idle; these launches, if any, ended some time before
  bool queued;             // the previous mark had not come yet when the last launch was made
};

struct ContextRecord;

// One stream. Accounts are atomic. The holder of `marking` writes marks; the holder of the
// context's `settling` reads them. Both locks are only tried.
struct StreamRecord {
  static constexpr std::uint32_t kMarks = 32;

  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> generation;
  std::uint64_t name;
  std::uint64_t key;  // in the tracker
  ContextRecord* context;
  StreamRecord* next;  // of the same context
  std::uint8_t device;
  std::atomic<bool> gone;  // the stream was destroyed; work and marks in it still end

  // Launches that are flushed and behind the last mark.
  std::atomic<std::uint32_t> launches;
  std::atomic<std::uint64_t> sum;
  std::atomic<std::uint64_t> due;
  std::atomic<Estimate*> alike;

  std::atomic<bool> marking;
  std::atomic<std::uint32_t> head;  // next mark to settle
  std::atomic<std::uint32_t> tail;  // next mark to write
  EventMarker marks[kMarks];

  // Guarded by the context's `settling`. The event of the last settled mark is kept until the next
  // mark is settled, because recording the next mark queries it.
  CUevent kept;
  std::uint64_t last_end;  // when that mark came, on the meter's timeline
  bool last_known;
  bool last_fresh;

  bool empty() const {
    return head.load(std::memory_order_acquire) == tail.load(std::memory_order_acquire);
  }
  CUstream handle() const { return reinterpret_cast<CUstream>(name); }
  bool perThread() const { return name == kPerThreadStream; }
  bool legacy() const { return name == 0; }
};

struct ContextRecord {
  std::atomic<CUcontext> context{nullptr};
  std::atomic<std::uint8_t> device{0};
  std::atomic<bool> settling{false};
  std::atomic<bool> dying{false};
  std::atomic<StreamRecord*> streams{nullptr};
  EventPool events;

  // Guarded by `settling`. The meter's timeline is the host's clock at the moment when the first
  // event was observed, and the device's clock from there on.
  CUevent base = nullptr;
  StreamRecord* base_keeper = nullptr;  // stream that keeps the same event
  std::uint64_t base_at = 0;
  // The upper bound of the timeline's lead over the host's clock, and when it was found. The bound
  // follows because no event comes before it is recorded.
  std::int64_t lead = INT64_MAX;
  std::uint64_t lead_at = 0;

  // An event behind all work that the context received while the gate was open. The holder of
  // `settling` writes it.
  std::atomic<CUevent> older{nullptr};
  std::uint64_t older_at = 0;                 // when it was recorded; host ns
  std::uint64_t older_sum = 0;                // estimate of that work in flight
  std::atomic<std::uint32_t> older_round{0};  // number of the resume() that it was recorded for
};

// Returns 0 for the legacy stream, kPerThreadStream for the thread's own stream, else the handle.
inline std::uint64_t streamName(const CallWork& work) {
  return work.per_thread ? kPerThreadStream : reinterpret_cast<std::uint64_t>(work.stream);
}

// One per process, in static storage. No lock that a thread waits for without a bound.
class StreamTracker {
 public:
  static constexpr unsigned kContexts = 64;

  struct Opened {
    StreamRecord* record;  // nullptr: no room, or the driver does not report the context
    std::uint8_t device;   // device of its work, if known
    bool busy;             // no record, but only for the moment: other threads are at work
  };
  // Returns the record of the work's stream for the calling thread; creates it if necessary. Calls
  // the driver.
  Opened open(const CallWork& work);
  // Returns the record of a created stream; nullptr if there is none.
  StreamRecord* find(CUstream stream);
  // Removes the record's name from the tracker. A stream that gets the same handle is another
  // stream.
  void close(StreamRecord& record);

  ContextRecord* findContext(CUcontext context);
  // Creates the context's record now if there is room, so that its end and its work can be
  // observed.
  void note(CUcontext context, unsigned device);
  // Calls visit(context record) for the records in use.
  template <typename Visit>
  void forEachContext(Visit visit) {
    const unsigned used = used_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < used; ++i) {
      if (contexts_[i].context.load(std::memory_order_acquire) != nullptr) visit(contexts_[i]);
    }
  }

  // Removes a record without pending marks from the context's list and frees it. The caller holds
  // the context's `settling`. Returns false if that is not possible now.
  bool release(ContextRecord& context, StreamRecord& record);
  // Frees the records of all streams and of the context. The caller ensures that no thread settles
  // there.
  void drop(ContextRecord& context);

  void forgetAfterFork();

 private:
  friend class OpeningElsewhere;  // of the tests

  ContextRecord* openContext(CUcontext context, unsigned device);
  StreamRecord* insert(ContextRecord& context, std::uint64_t name, std::uint64_t key);

  AddressMap by_name_;
  Slab<StreamRecord> records_;
  ContextRecord contexts_[kContexts];
  std::atomic<unsigned> used_{0};
  std::atomic<bool> opening_{false};
};

}  // namespace divvy::interposer
