// The launch gate, which all work for the device passes, and this process's reports about it.
#pragma once

#include <atomic>

#include "cuda/call_work.h"
#include "interposer/cuda_hooks.h"
#include "launch/active_grant.h"
#include "launch/drain_monitor.h"
#include "launch/inflight_limit.h"
#include "launch/work_report.h"
#include "loader/driver_table.h"
#include "meter/usage_meter.h"
#include "threads/background_thread.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// One call on its way through a gate that is not open. The call is not metered while `line` is
// null.
struct GatePass {
  ThreadLine* line = nullptr;
  // If not CUDA_SUCCESS, the answer to the call, which must not be made; then there is nothing to
  // leave.
  CUresult refused = CUDA_SUCCESS;
  MeteredCall ticket;
};

// One per process, in static storage. Any thread.
class LaunchGate {
 public:
  // Puts the tenant's grant in force. To be called after a context was created.
  void attach();
  // Makes every gated call take the path of a gate that is not open, whatever the grant.
  void meterAlways();

  // To be called before the first launch of a thread of this process. Starts the background thread,
  // which from then on observes that the gate closes. So work that passed the open gate is known at
  // that moment.
  void watch();
  // Ends the background thread's sleep if that sleep is on the grant.
  void rouse() const;

  // See enterGate().
  void enter(const CallWork& work, GatePass& passage);
  // Admits a launch that only has to be counted, as most launches are. Returns false, without
  // effect, for any other launch. leaveQuickly() follows the driver's call. kMarked: the thread's
  // line shows that the launch may touch swappable memory; otherwise there is no such memory.
  template <bool kMarked>
  bool enterQuickly(const CallWork& work, ThreadLine* line, Counted& counted);
  void leaveQuickly(ThreadLine* line, const Counted& counted, CUresult result);

  // Does the work off the launch path: settles, publishes, proves that work launched before a hold
  // has drained, and monitors the agent. Returns the time of the next call in ns; 0: at the next
  // wake-up.
  std::uint64_t tick(std::uint64_t now);
  // Sleeps until `until`, or until the grant's word differs from the word that tick() read. With
  // `until` 0 under a grant that is not open, or without a grant in force, sleeps while `wake` is
  // `seen`. Under a grant, a sleep with `until` 0 lasts at most 1 s.
  void sleepUntil(std::uint64_t until, const std::uint32_t& wake, std::uint32_t seen) const;

  // Returns whether the work in flight has not shrunk for as long as a thread that waits since
  // `since` may be held (the grant's escape_ms). That work may depend on something that the waiting
  // thread is to do.
  bool stalled(std::uint64_t since, std::uint64_t now) const;

  // Ends all waits for good, and all driver calls of the background thread: the process ends.
  void endForExit();
  void forgetAfterFork();

  // Returns whether a grant may come into force in this process.
  bool attached() const { return grant_.attached(); }
  // Returns whether launches were admitted under a grant, and may be again.
  bool metering() const { return grant_.noted().any(); }
  bool ungated() const { return grant_.ungated(); }
  std::uint64_t captured() const { return captured_.load(std::memory_order_relaxed); }
  const WorkReport& board() const { return board_; }
  const BackgroundThread& background() const { return background_; }

 private:
  class Wait;

  bool admitSlowly(ThreadLine* line, const LaunchNeed& need);
  bool admit(const CallWork& work, MeteredCall& ticket);
  bool fits(const LaunchNeed& need) const;
  bool force(ThreadLine* line);
  bool mayWait() const;
  void activate();
  bool passesCaptured(const CallWork& work);

  WorkReport board_;
  BackgroundThread background_;
  ActiveGrant grant_{board_, background_};
  InflightLimit inflight_{grant_};
  DrainMonitor monitor_{DrainMonitor::Parts{
      .grant = grant_, .report = board_, .inflight = inflight_, .background = background_}};
  std::atomic<std::uint64_t> captured_{0};  // launches into captures, which are no work yet
};

// Surround the driver's call of one launch that found the gate not open. enterGate() returns when
// the launch may proceed: by the rules of the grant, and with all memory resident. From then on the
// thread counts as inside a hook. If GatePass::refused is set, the launch must not be made.
void enterGate(const CallWork& work, GatePass& passage);
void leaveGate(GatePass& passage, CUresult result);

// A relaxed load of the word and, if it is open, a count in the thread's line. Without the
// attribute, a compiler that sees over a hundred hooks in one file calls this function instead of
// inlining it.
__attribute__((always_inline)) inline bool passesFreely(ThreadLine* line) {
  const std::uint32_t* word = divvy_gate.load(std::memory_order_relaxed);
  if (__builtin_expect(ledger::loadRelaxed(*word) != 0, 0)) return false;
  line->free.store(line->free.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

// For hooks that do more than pass the gate. Returns true if the call may proceed at once.
inline bool passGate() {
  if (__builtin_expect(divvy_thread.line == nullptr, 0)) takeThreadLine();
  return passesFreely(divvy_thread.line);
}

// Returns whether no arbiter limits launches at this moment.
inline bool gateIsOpen() {
  return ledger::loadRelaxed(*divvy_gate.load(std::memory_order_relaxed)) == 0;
}

}  // namespace divvy::interposer
