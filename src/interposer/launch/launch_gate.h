// The one gate that work for the device passes, and what this process shows of itself there.
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

// The word that says whether work may be launched: the tenant's grant, or (without a tenant, before
// the first context, with the agent gone) one that is always 0, which is open.
extern "C" {
extern __attribute__((visibility("hidden"))) std::atomic<const std::uint32_t*> divvy_gate;
}

namespace divvy::interposer {

// One call on its way through a gate that is not open. Passes unmetered while line is null.
struct GatePass {
  ThreadLine* line = nullptr;
  // Else the call is not to be made, and this is the answer; then nothing has to be left.
  CUresult refused = CUDA_SUCCESS;
  MeteredCall ticket;
};

// One per process, in static storage. Any thread.
class LaunchGate {
 public:
  // Puts the tenant's grant in force; to be called when a context has been made.
  void attach();
  // From here on every call that the gate is for takes the way that is not open, whatever the grant
  // says: memory can be swapped.
  void meterAlways();

  // A thread of this process is about to launch for the first time: from now on our thread sees the
  // gate close, so that work that went through it open is known then.
  void watch();
  // Ends the sleep of our thread where that is on the grant.
  void rouse() const;

  // See enterGate.
  void enter(const CallWork& work, GatePass& passage);
  // The same for a launch that only has to be counted, as most; false: this is none, and nothing
  // happened. leaveQuickly() follows the driver's call. kMarked: the thread's line shows that the
  // launch may touch swappable memory, or else there is none.
  template <bool kMarked>
  bool enterQuickly(const CallWork& work, ThreadLine* line, Counted& counted);
  void leaveQuickly(ThreadLine* line, const Counted& counted, CUresult result);

  // What there is to do off the launch path: settle, show, prove that what was launched before a
  // hold has drained, watch the agent. Returns when to be called again (ns), 0: when woken.
  std::uint64_t tick(std::uint64_t now);
  // Sleeps until then, or until the grant is another than tick() saw; with 0 while `wake` is
  // `seen`.
  void sleepUntil(std::uint64_t until, const std::uint32_t& wake, std::uint32_t seen) const;

  // What is in flight has not shrunk for as long as a thread that waits since `since` may be kept:
  // it may wait for something that this thread is to do.
  bool stalled(std::uint64_t since, std::uint64_t now) const;

  // From here on nobody waits, and our thread calls the driver no more.
  void endForExit();
  void forgetAfterFork();

  // A grant may come into force in this process.
  bool attached() const {
    const Mode mode = mode_.load(std::memory_order_relaxed);
    return mode == Mode::kGated || mode == Mode::kUngated;
  }
  // Launches were let go under a grant, and may be again.
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
  // When what is in flight ends, by estimate (which may be past); 0: it has ended.
  std::uint64_t inflightEnd() const;
  bool goInside(ThreadLine* line, std::uint32_t word) const;
  struct Need {  // of one launch
    std::uint64_t estimate;
    unsigned device;
  };
  bool fits(const Need& need) const;
  bool fitsSoon(const Need& need, std::uint64_t now) const;
  // How long before the end of what is in flight the next launch may follow.
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
  // Others make room for this tenant.
  bool servesFirst() const;
  std::uint64_t nextLook(std::uint32_t word, bool draining, std::uint64_t now) const;

  const ledger::Grant* grant_ = nullptr;
  // Where divvy_gate points too, until meterAlways().
  std::atomic<const std::uint32_t*> word_at_{nullptr};
  std::atomic<Mode> mode_{Mode::kDetached};
  bool fences_ = false;  // no membarrier here: launching threads fence for themselves
  WorkReport board_;
  Lease lease_;
  BackgroundThread background_;
  std::atomic<std::uint32_t> budget_waits_{0};  // threads that wait for less to be in flight
  // How late this machine wakes who sleeps until a moment: nine times of ten not later.
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> progress_{0};  // when in-flight work was last seen to shrink
  std::atomic<std::uint32_t> word_noted_{0};
  // The same while launches under it may be let go quickly; else no word at all.
  std::atomic<std::uint32_t> quick_word_{kNoWord};
  std::atomic<std::uint32_t> marked_word_{kNoWord};  // for those that are marked
  std::atomic<std::uint64_t> free_noted_{0};  // launches that found the gate open, at that word
  std::atomic<std::uint64_t> activated_{0};   // when a launch was last let go after a pause
  std::atomic<std::uint64_t> captured_{0};    // launches into captures, which are no work yet

  // Of tick(), which one thread at a time is in.
  std::atomic<bool> ticking_{false};
  std::uint64_t free_watched_ = 0;  // launches through the open gate whose end will be seen
  std::uint64_t launches_seen_ = 0;
  std::uint64_t quiet_since_ = 0;
  std::uint64_t busy_until_ = 0;  // at the last look; 0: nothing was in flight
  std::uint64_t activated_seen_ = 0;
  std::uint32_t word_seen_ = 0;
  std::uint64_t ticks_ = 0;
};

// Around the driver's call of one launch that found the gate not open. Returns when the launch may
// proceed, by the rules of the grant and with all memory there; from then on the thread counts as
// inside one of our hooks. Or it must not be made: see Passage::refused.
void enterGate(const CallWork& work, GatePass& passage);
void leaveGate(GatePass& passage, CUresult result);

// A relaxed load of the word, and where it is open a count in the thread's line. Without the
// attribute a compiler that sees a hundred and more hooks in one file calls this instead.
__attribute__((always_inline)) inline bool passesFreely(ThreadLine* line) {
  const std::uint32_t* word = divvy_gate.load(std::memory_order_relaxed);
  if (__builtin_expect(ledger::loadRelaxed(*word) != 0, 0)) return false;
  line->free.store(line->free.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

// For hooks that do more than pass the gate: true if the call may go on at once.
inline bool passGate() {
  if (__builtin_expect(divvy_thread.line == nullptr, 0)) takeThreadLine();
  return passesFreely(divvy_thread.line);
}

// Nobody arbitrates at this moment.
inline bool gateIsOpen() {
  return ledger::loadRelaxed(*divvy_gate.load(std::memory_order_relaxed)) == 0;
}

}  // namespace divvy::interposer
