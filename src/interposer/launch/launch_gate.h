// The launch gate, which all work for the device passes, and this process's reports about it.
#pragma once

#include <atomic>

#include "cuda/call_work.h"
#include "interposer/cuda_hooks.h"
#include "launch/usage_meter.h"
#include "launch/work_report.h"
#include "loader/driver_table.h"
#include "support/lease.h"
#include "threads/background_thread.h"
#include "threads/thread_state.h"

// The word that determines whether work may be launched: the tenant's grant. It is a word that is
// always 0, which is open, without a tenant, before the first context, and while the agent is
// silent. After meterAlways() it is a word that is never open.
extern "C" {
extern __attribute__((visibility("hidden"))) std::atomic<const std::uint32_t*> divvy_gate;
}

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
  bool attached() const {
    const Mode mode = mode_.load(std::memory_order_relaxed);
    return mode == Mode::kGated || mode == Mode::kUngated;
  }
  // Returns whether launches were admitted under a grant, and may be again.
  bool metering() const { return word_noted_.load(std::memory_order_relaxed) != 0; }
  bool ungated() const { return mode_.load(std::memory_order_relaxed) == Mode::kUngated; }
  std::uint64_t captured() const { return captured_.load(std::memory_order_relaxed); }
  const WorkReport& board() const { return board_; }
  const BackgroundThread& background() const { return background_; }

 private:
  enum class Mode : std::uint32_t { kDetached, kGated, kUngated, kLost, kExiting };
  class Wait;
  static constexpr std::uint32_t kNoWord = ~std::uint32_t{0};

  __attribute__((always_inline)) std::uint32_t word() const {
    return ledger::loadAcquire(*word_at_.load(std::memory_order_relaxed));
  }
  void pointAt(const std::uint32_t* word);
  std::uint64_t inflightBound() const {
    return std::uint64_t{ledger::loadRelaxed(grant_->inflight_us)} * 1'000;
  }
  // Returns the estimated end of the work in flight, which may be past; 0 if that work has ended.
  std::uint64_t inflightEnd() const;
  bool goInside(ThreadLine* line, std::uint32_t word) const;
  struct Need {  // of one launch
    std::uint64_t estimate;
    unsigned device;
  };
  bool fits(const Need& need) const;
  bool fitsSoon(const Need& need, std::uint64_t now) const;
  // Returns how long before the end of the work in flight the next launch may follow.
  std::uint64_t lead() const;
  void noteLate(std::uint64_t by);
  bool admitSlowly(ThreadLine* line, const Need& need);
  bool admit(const CallWork& work, MeteredCall& ticket);
  bool force(ThreadLine* line);
  bool mayWait() const;
  bool present();
  bool standsOpen();
  void lose();
  void activate();
  bool passesCaptured(const CallWork& work);
  bool noteGrant(std::uint32_t word);
  void forgetGrant();
  bool noteClosed(std::uint64_t now);
  void ungate();
  void regate();
  void noteProgress(const Settled& settled, std::uint64_t now);

  std::uint64_t sequenceOf(std::uint32_t word) const;
  void publish(std::uint64_t now);
  bool endsInTime(std::uint64_t now) const;
  bool proveDrained(std::uint32_t word, std::uint64_t now);
  bool rest(std::uint64_t now, bool drained);
  bool saturated() const;
  // Returns whether other tenants yield to this tenant.
  bool servesFirst() const;
  std::uint64_t nextLook(std::uint32_t word, bool draining, std::uint64_t now) const;

  const ledger::Grant* grant_ = nullptr;
  // Equals divvy_gate until meterAlways().
  std::atomic<const std::uint32_t*> word_at_{nullptr};
  std::atomic<Mode> mode_{Mode::kDetached};
  bool fences_ = false;  // no membarrier here: launching threads fence themselves
  WorkReport board_;
  Lease lease_;
  BackgroundThread background_;
  std::atomic<std::uint32_t> budget_waits_{0};  // threads that wait for less work in flight
  // How late this machine wakes a thread that sleeps until an instant, in ns: the ninth decile.
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> progress_{0};  // when in-flight work was last seen to shrink
  std::atomic<std::uint32_t> word_noted_{0};
  // word_noted_ while launches under it may take the quick path; kNoWord otherwise.
  std::atomic<std::uint32_t> quick_word_{kNoWord};
  std::atomic<std::uint32_t> marked_word_{kNoWord};  // the same for launches with a marked line
  std::atomic<std::uint64_t> free_noted_{0};  // launches that found the gate open, at that word
  std::atomic<std::uint64_t> activated_{0};   // latest launch that was admitted after a pause
  std::atomic<std::uint64_t> captured_{0};    // launches into captures, which are no work yet

  // State of tick(), which runs in one thread at a time.
  std::atomic<bool> ticking_{false};
  std::uint64_t free_watched_ = 0;  // launches through the open gate with an end to be observed
  std::uint64_t launches_seen_ = 0;
  std::uint64_t quiet_since_ = 0;
  std::uint64_t busy_until_ = 0;  // at the latest tick; 0: nothing was in flight
  std::uint64_t activated_seen_ = 0;
  std::uint32_t word_seen_ = 0;
  std::uint64_t ticks_ = 0;
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
