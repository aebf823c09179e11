// The streams that work was metered in, by context, and the marks that stand in them.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_work.h"
#include "launch/event_pool.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

class Estimate;

// An event in a stream, behind some launches.
struct EventMarker {
  CUevent event;
  std::uint64_t recorded;  // when that began; host ns
  std::uint64_t made;      // when the last of the launches had been made
  std::uint64_t call;      // if one launch: how long the driver's call was
  std::uint64_t sum;       // of their estimates, in flight until the mark is settled
  std::uint64_t due;       // when they are thought to end
  Estimate* alike;         // of all launches, if they are alike
  std::uint32_t launches;  // since the mark before
  bool single_kernel;      // that launch is a kernel or graph
  bool fresh;              // the stream was idle; these launches, if any, ended some time before
  bool queued;  // when the last of the launches was made, the mark before was still to come
};

struct ContextRecord;

// One stream. Accounts are atomic; marks are written by whoever has `marking` and read by whoever
// has the context's `settling`. Both are only ever tried for.
struct StreamRecord {
  static constexpr std::uint32_t kMarks = 32;

  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> generation;
  std::uint64_t name;
  std::uint64_t key;  // in the book
  ContextRecord* context;
  StreamRecord* next;  // of the same context
  std::uint8_t device;
  std::atomic<bool> gone;  // the stream was destroyed; what stands in it still ends

  // Flushed, and behind the last mark.
  std::atomic<std::uint32_t> launches;
  std::atomic<std::uint64_t> sum;
  std::atomic<std::uint64_t> due;
  std::atomic<Estimate*> alike;

  std::atomic<bool> marking;
  std::atomic<std::uint32_t> head;  // the next mark to settle
  std::atomic<std::uint32_t> tail;  // the next mark to write
  EventMarker marks[kMarks];

  // Guarded by the context's `settling`. The event of the last settled mark is kept until another
  // mark is settled, because whoever records the next one asks after it.
  CUevent kept;
  std::uint64_t last_end;  // when that mark came; the meter's timeline
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

  // Guarded by `settling`. The meter's timeline is the host's clock when the first event was seen,
  // and from there on the card's.
  CUevent base = nullptr;
  StreamRecord* base_keeper = nullptr;  // whose kept event it is, too
  std::uint64_t base_at = 0;
  // How far the timeline is ahead of the host's clock, at most, and when that was found out: no
  // event comes before it is recorded.
  std::int64_t lead = INT64_MAX;
  std::uint64_t lead_at = 0;

  // An event behind everything that the context was given while the gate was open; written with
  // `settling`.
  std::atomic<CUevent> older{nullptr};
  std::uint64_t older_at = 0;                 // when it was recorded; host ns
  std::uint64_t older_sum = 0;                // that stands for it in what is in flight
  std::atomic<std::uint32_t> older_round{0};  // resume() that it was recorded for
};

// 0 the legacy stream, kPerThreadStream the thread's own, else the handle.
inline std::uint64_t streamName(const CallWork& work) {
  return work.per_thread ? kPerThreadStream : reinterpret_cast<std::uint64_t>(work.stream);
}

// One per process, in static storage. No lock that anybody waits for.
class StreamTracker {
 public:
  static constexpr unsigned kContexts = 64;

  struct Opened {
    StreamRecord* record;  // nullptr: no room, or the driver does not tell the stream's context
    std::uint8_t device;   // that its work goes to, as far as can be told
    bool busy;             // where there is no record: only now, because of what others just do
  };
  // The record of a stream for the calling thread, made if need be. Calls the driver.
  Opened open(const CallWork& work);
  // The record of a created stream, if there is one.
  StreamRecord* find(CUstream stream);
  // Takes its name out of the book: a stream that gets the same handle is another.
  void close(StreamRecord& record);

  ContextRecord* findContext(CUcontext context);
  // Makes its record now, where there is room, so that its end and its work can be seen.
  void note(CUcontext context, unsigned device);
  // Calls visit(context record) for those in use.
  template <typename Visit>
  void forEachContext(Visit visit) {
    const unsigned used = used_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < used; ++i) {
      if (contexts_[i].context.load(std::memory_order_acquire) != nullptr) visit(contexts_[i]);
    }
  }

  // With the context's `settling`: takes a record that nothing stands in from the context's list
  // and frees it. False: not now.
  bool release(ContextRecord& context, StreamRecord& record);
  // All its streams and the context's own record. The caller saw to it that nobody settles there.
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
