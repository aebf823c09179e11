#include "launch/launch_gate.h"

#include "cuda/capture_scope.h"
#include "launch/gate_pair.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/drain.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;
using ledger::gateState;
using ledger::loadRelaxed;

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kLongestSleep = 100 * kMillisecond;
constexpr std::uint64_t kShortestSleep = 50 * kMicrosecond;
constexpr std::uint64_t kMaxSpin = 200 * kMicrosecond;

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return a > b ? a : b;
}

}  // namespace

void LaunchGate::attach() {
  const ErrnoKeeper keeper;
  if (grant_.attach() && divvy_thread.line != nullptr) watch();
}

void LaunchGate::meterAlways() {
  grant_.meterAlways();
}

void LaunchGate::watch() {
  if (grant_.gated(std::memory_order_relaxed) && !divvy_thread.forking) background_.begin();
}

void LaunchGate::rouse() const {
  grant_.wakeWaiting();
}

std::uint64_t LaunchGate::tick(std::uint64_t now) {
  return monitor_.tick(now);
}

void LaunchGate::sleepUntil(std::uint64_t until, const std::uint32_t& wake,
                            std::uint32_t seen) const {
  monitor_.sleepUntil(until, wake, seen);
}

bool LaunchGate::stalled(std::uint64_t since, std::uint64_t now) const {
  return inflight_.stalled(since, now);
}

void LaunchGate::endForExit() {
  grant_.openForExit();
  runtime().memory_gate.endForExit();
  runtime().context_use.endForExit();
  background_.stop();
  runtime().pagers.stop();
  runtime().ipc_exports.stop();
}

void LaunchGate::forgetAfterFork() {
  grant_.forgetAfterFork();
  board_.forgetAfterFork();
  background_.forgetAfterFork();
  inflight_.forgetAfterFork();
  monitor_.forgetAfterFork();
  captured_.store(0, std::memory_order_relaxed);
}

// ---- one launch --------------------------------------------------------------------------------

inline bool LaunchGate::fits(const LaunchNeed& need) const {
  const std::uint64_t bound = grant_.inflightBound();
  return bound == 0 || runtime().meter.usage().unsettledOn(need.device) + need.estimate <= bound;
}

// Host functions run in the driver's own thread, which must continue for any work to end; fork
// handlers may hold locks that other threads need.
bool LaunchGate::mayWait() const {
  return !divvy_thread.callback && !divvy_thread.forking && !grant_.exiting();
}

// A launch into a capture starts nothing.
__attribute__((noinline)) bool LaunchGate::passesCaptured(const CallWork& work) {
  if (!mayBeCapturing(work.stream, work.per_thread)) return false;
  captured_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Without read-modify-write operations, clock reads and system calls.
void LaunchGate::enter(const CallWork& work, GatePass& passage) {
  ThreadLine* line = divvy_thread.line;
  divvy_thread.depth = 1;
  if (!admit(work, passage.ticket)) {
    line->exempt.store(line->exempt.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  if (__builtin_expect(!board_.shows(ledger::kWorkInFlight), 0)) activate();
  line->metered.store(line->metered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  passage.line = line;
  runtime().meter.begin(work, passage.ticket);
}

// Returns true if the thread is inside, under a word that lets it run.
inline bool LaunchGate::admit(const CallWork& work, MeteredCall& ticket) {
  if (__builtin_expect(runtime().captures.open(), 0) && passesCaptured(work)) return false;
  const std::uint32_t word = grant_.word();
  const bool noted = word == grant_.noted().current() || grant_.note(word);
  if (__builtin_expect(!noted, 0)) return false;
  ThreadLine* line = divvy_thread.line;
  const LaunchNeed need{runtime().meter.estimate(work, ticket), runtime().meter.deviceOf(work)};
  const bool admitted =
      gateState(word) == GateState::kRun && fits(need) && grant_.goInside(line, word);
  return __builtin_expect(admitted, 1) || admitSlowly(line, need);
}

// Every launch under a grant runs this; flatten, so that nothing in it is a call of its own.
__attribute__((flatten)) void enterGate(const CallWork& work, GatePass& passage) {
  if (__builtin_expect(runtime().memory_gate.active(), 0)) {
    enterBothGates(work, passage);
  } else {
    runtime().gate.enter(work, passage);
  }
}

__attribute__((flatten)) void leaveGate(GatePass& passage, CUresult result) {
  if (passage.line != nullptr) {
    runtime().meter.end(passage.ticket, result);
    clearMark(passage.line->admitted);
  }
  if (__builtin_expect(divvy_thread.touching != 0, 0)) leaveMemory();
  divvy_thread.depth = 0;
}

__attribute__((noinline)) void LaunchGate::activate() {
  const ErrnoKeeper keeper;
  const std::uint64_t now = sys::now();
  monitor_.noteActivation(now);
  board_.turn(now);
  if (!board_.raise(ledger::kWorkInFlight)) return;
  background_.wake();
}

// ---- waiting -----------------------------------------------------------------------------------

// The waits of one launch, until it is admitted.
class LaunchGate::Wait {
 public:
  explicit Wait(LaunchGate& gate) : gate_(gate) {}
  ~Wait() {
    endHold();
    if (budgeted_) gate_.inflight_.endWait();
    // With few launches for each wait, waits are only as accurate as the estimates.
    if (tight_) divvy_meter.until_sample = 1;
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // Waits a while because no launch is permitted under `word`. Returns false if this launch must
  // not wait longer.
  bool hold(std::uint32_t word);
  void endHold();
  // Waits a while because enough is in flight. Returns false if this launch must not wait longer.
  bool budget(std::uint32_t word, const LaunchNeed& need);

 private:
  bool stuck(std::uint64_t now);
  bool spin(std::uint32_t word) const;
  void doze(std::uint32_t word, std::uint64_t until) const { gate_.grant_.waitWhile(word, until); }

  LaunchGate& gate_;
  std::uint64_t since_ = 0;  // start of any wait
  bool held_ = false;
  bool budgeted_ = false;  // counted by InflightLimit
  bool tight_ = false;     // few of these launches may be in flight
};

bool LaunchGate::Wait::stuck(std::uint64_t now) {
  if (since_ == 0) since_ = now;
  return gate_.stalled(since_, now);
}

bool LaunchGate::Wait::spin(std::uint32_t word) const {
  const std::uint64_t spin = loadRelaxed(gate_.grant_.terms()->spin_us) * kMicrosecond;
  const std::uint64_t until = sys::now() + smaller(spin, kMaxSpin);
  do {
    for (int i = 0; i < 16; ++i) {
      if (gate_.grant_.word() != word) return true;
      ledger::relax();
    }
  } while (sys::now() < until);
  return false;
}

bool LaunchGate::Wait::hold(std::uint32_t word) {
  std::uint64_t now = sys::now();
  const std::uint64_t seq = gate_.grant_.sequenceOf(word);
  ledger::raiseTo(gate_.board_.line().seen_seq, seq);
  // With nothing in flight the background thread sleeps, and would prove no drain.
  if (loadRelaxed(gate_.board_.line().drained_seq) < seq &&
      !gate_.board_.shows(ledger::kWorkInFlight)) {
    gate_.background_.wake();
  }
  if (!held_) {
    held_ = true;
    runtime().meter.mark();
    gate_.board_.beginWait(now);
    if (spin(word)) return true;
    now = sys::now();
  }
  if (!gate_.grant_.alive(now)) {
    gate_.grant_.ungate();
    return true;
  }
  if (stuck(now)) return false;
  std::uint64_t longest = kLongestSleep;
  if (gate_.background_.missing()) longest = smaller(longest, larger(gate_.tick(now), now) - now);
  if (longest == 0) longest = kMillisecond;
  doze(word, now + longest);
  return true;
}

void LaunchGate::Wait::endHold() {
  if (!held_) return;
  held_ = false;
  const std::uint64_t now = sys::now();
  gate_.monitor_.noteActivation(now);
  // After another tenant's turn the start of work becomes visible only when that tenant's work has
  // ended, a moment later.
  const bool turns = loadRelaxed(gate_.grant_.terms()->quantum_us) != 0;
  if (gate_.board_.endWait(now, turns)) gate_.background_.wake();
}

bool LaunchGate::Wait::budget(std::uint32_t word, const LaunchNeed& need) {
  if (!budgeted_) {
    budgeted_ = true;
    gate_.inflight_.beginWait();
    // Only this mark shows the end of the work that it waits for; without it the wait cost a
    // kernel's time on a real card.
    runtime().meter.mark();
    tight_ = need.estimate >= gate_.grant_.inflightBound() / 4;
  }
  const std::uint64_t now = sys::now();
  const Settled settled = runtime().meter.settle(now);
  gate_.inflight_.noteProgress(settled, now);
  if (settled.ended) return true;
  if (stuck(now)) return false;
  const std::uint64_t lead = gate_.inflight_.lead();
  const std::uint64_t until = runtime().meter.usage().untilOn(need.device);
  const std::uint64_t wanted = until > now + lead ? until - lead : now + kShortestSleep;
  const std::uint64_t target = smaller(larger(wanted, now + kShortestSleep), now + kMillisecond);
  doze(word, target);
  const std::uint64_t woken = sys::now();
  if (woken > target) gate_.inflight_.noteLate(woken - target);
  return true;
}

// Lets one launch pass whatever the word is.
bool LaunchGate::force(ThreadLine* line) {
  ledger::bumpShared(board_.line().escapes, 1);
  noteFault(Fault::kGateEscaped, 0, runtime().meter.usage().unsettled());
  while (grant_.word() != 0) {
    if (grant_.goInside(line, grant_.word())) return true;
  }
  return false;
}

// Returns false if no arbiter gates any more; the launch passes as through an open gate.
__attribute__((noinline)) bool LaunchGate::admitSlowly(ThreadLine* line, const LaunchNeed& need) {
  const ErrnoKeeper keeper;
  Wait wait(*this);
  ResidencyGateRelease outside(line);
  const bool may_wait = mayWait();
  for (;;) {
    const std::uint32_t word = grant_.word();
    if (word == 0 || (grant_.ungated() && grant_.standsOpen())) {
      outside.comeBack();
      return false;
    }
    if (gateState(word) == GateState::kHold && may_wait) {
      outside.leave();
      if (!wait.hold(word)) return outside.comeBack() && force(line);
      continue;
    }
    if (outside.left()) {
      if (!outside.comeBack()) return false;
      continue;  // the grant may have changed
    }
    wait.endHold();
    if (may_wait && !fits(need) && !inflight_.fitsSoon(need, sys::now())) {
      outside.leave();
      if (!wait.budget(word, need)) return outside.comeBack() && force(line);
      continue;
    }
    if (grant_.goInside(line, word)) return true;
  }
}

}  // namespace divvy::interposer
