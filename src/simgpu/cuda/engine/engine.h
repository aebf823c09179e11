// Submission of work to a card, and its effects in this process when it ends.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "card/engine_file.h"
#include "cuda/context/context.h"
#include "cuda/engine/access_log.h"
#include "cuda/engine/engine_cost.h"
#include "cuda/engine/engine_wait.h"

namespace divvy::simgpu {

class Stream;
class Event;
class Module;
struct ExecContext;

// The end of an operation, for queries after its slot was released.
struct Completion {
  std::atomic<OpRef> ref{0};  // 0 until the operation has a place in the queue
  std::atomic<bool> done{false};
  std::atomic<Nanos> end_ns{0};
};

enum class Polled { kNotYet, kOver, kFault };

// The effect of an operation. The timeline knows only its duration.
struct Task {
  // Once, when the operation has ended, in the order of completion. An error poisons the context.
  // On a thread of ours or a waiting one: must not call back into streams.
  std::function<CUresult()> effect;
  // For operations that their owner ends: asked again and again while they run.
  std::function<Polled()> poll;
  // After `poll` returned kOver: the end to report; 0: the time at which it was seen.
  std::function<Nanos()> poll_end;
  // A host function, run once on the callback thread when the operation has begun, with the
  // context's state. Not run after a fault unless `host_always`.
  std::function<void(CUresult)> host;
  bool host_always = false;
  std::shared_ptr<Completion> completion;
  SharedEventName records;            // an event of several processes that this records
  std::shared_ptr<const void> keeps;  // alive until the operation has ended
  MemoryUse uses;

  bool needsOwner() const { return poll != nullptr || host != nullptr; }
};

// An operation to be put into a stream or graph.
struct Work {
  OpSpec spec;
  Task task;
  std::vector<OpRef> after;   // operations to follow besides those of the stream
  bool own_priority = false;  // spec.priority is meant, not the stream's
  // the caller waits for it at once, so no other thread has to run its effect
  bool awaited = false;
};

// A card as the execution half of this process sees it.
struct ExecDevice {
  explicit ExecDevice(Device& d) : device(d), costs(*d.profile) {}

  Device& device;
  CostModel costs;
  EngineFile engine;
  std::vector<ExecContext*> contexts;  // guarded by the executor's effects lock
};

// The execution half's data of a context.
struct ExecContext {
  ExecContext(Context& c, ExecDevice& d, std::uint32_t l);
  ~ExecContext();

  struct Payload {
    OpRef ref = 0;
    bool host_started = false;
    Task task;
  };

  Context& context;
  ExecDevice& device;
  const std::uint32_t lane;
  std::vector<Payload> payloads;  // by slot; guarded by the card's lock

  // Taken before the card's lock. The sets of streams are changed under both and read under either,
  // the rest is guarded by this one.
  std::mutex mutex;
  std::unique_ptr<Stream> legacy;
  std::map<std::thread::id, std::unique_ptr<Stream>> per_thread;
  std::set<Stream*> created;
  std::vector<OpRef> orphans;  // last work of destroyed blocking streams
  std::set<Event*> events;
  std::set<Module*> modules;
};

// The execution state of a context; never null for a live one.
inline ExecContext& execOf(Context& context) {
  return *context.exec;
}

// Puts one operation after `deps` (any number) and returns it. Blocks while the context's queue is
// full: the launch queue holds 1024. `order` is called under the card's lock, first to add what the
// operation must follow, then with the reference: so streams keep their order.
class Placement {
 public:
  virtual ~Placement() = default;
  virtual void collect(Timeline& line, std::vector<OpRef>* deps) = 0;
  virtual void placed(OpRef ref) = 0;
};
OpRef place(ExecContext& exec, Work work, Placement& where);

// Waits until the operation has ended and its effect was run. The context's state, then.
CUresult waitFor(ExecContext& exec, OpRef ref);
// Waits for everything the context was given before the call.
CUresult waitForAll(ExecContext& exec);
// True when the operation has ended and its effect was run; runs effects if it can without waiting.
bool hasEnded(ExecContext& exec, OpRef ref);

// Makes the context unusable, ends what is pending in it. First fault wins.
void fault(ExecContext& exec, CUresult error);

}  // namespace divvy::simgpu
