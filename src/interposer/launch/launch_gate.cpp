#include "launch/launch_gate.h"

#include "cuda/capture_scope.h"
#include "launch/gate_pair.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/drain.h"

namespace {
const std::uint32_t kOpenWord = 0;
// Not the word of a grant: this one is permanent where memory can be swapped.
const std::uint32_t kMeteredWord = ~std::uint32_t{0};
}  // namespace

extern "C" {
constinit std::atomic<const std::uint32_t*> divvy_gate{&kOpenWord};
}

namespace divvy::interposer {
namespace {

using ledger::GateState;
using ledger::gateState;
using ledger::loadRelaxed;

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kLongestSleep = 100 * kMillisecond;
constexpr std::uint64_t kShortestSleep = 50 * kMicrosecond;
constexpr std::uint64_t kMaxSlack = 500 * kMicrosecond;
// A machine with longer delays is short of processors. A tenant that others wait for must not have
// more in flight because of that.
constexpr std::uint64_t kMaxLate = 200 * kMicrosecond;
constexpr std::uint64_t kMaxSpin = 200 * kMicrosecond;
constexpr std::uint64_t kDefaultEscapeMs = 100;

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return a > b ? a : b;
}

}  // namespace

// ---- modes -------------------------------------------------------------------------------------

void LaunchGate::attach() {
  if (mode_.load(std::memory_order_acquire) != Mode::kDetached) return;
  Tenant& tenant = runtime().tenant;
  if (!tenant.ready() || tenant.account().pages().work() == nullptr) return;
  const ErrnoKeeper keeper;
  fences_ = !registerDrainFence();
  grant_ = &tenant.control().header.grant;
  Mode detached = Mode::kDetached;
  if (mode_.compare_exchange_strong(detached, Mode::kGated, std::memory_order_acq_rel)) {
    pointAt(&grant_->word);
  }
  if (divvy_thread.line != nullptr) watch();
}

void LaunchGate::watch() {
  if (mode_.load(std::memory_order_relaxed) == Mode::kGated && !divvy_thread.forking) {
    background_.begin();
  }
}

void LaunchGate::rouse() const {
  if (grant_ != nullptr) sys::wakeAll(&grant_->word, true);
}

void LaunchGate::pointAt(const std::uint32_t* word) {
  word_at_.store(word, std::memory_order_release);
  const std::uint32_t* seen = divvy_gate.load(std::memory_order_relaxed);
  while (seen != &kMeteredWord &&
         !divvy_gate.compare_exchange_weak(seen, word, std::memory_order_release)) {
  }
}

void LaunchGate::meterAlways() {
  const std::uint32_t* none = nullptr;
  word_at_.compare_exchange_strong(none, &kOpenWord, std::memory_order_acq_rel);
  divvy_gate.store(&kMeteredWord, std::memory_order_seq_cst);
  quick_word_.store(kNoWord, std::memory_order_seq_cst);
}

// A waiting thread finds the word changed, or reads it again within its bounded sleep. Without a
// thread that would see the agent return, launches go on checking for it.
void LaunchGate::ungate() {
  Mode gated = Mode::kGated;
  if (!mode_.compare_exchange_strong(gated, Mode::kUngated, std::memory_order_acq_rel)) return;
  if (!background_.missing()) pointAt(&kOpenWord);
  forgetGrant();
  board_.raise(ledger::kWorkUngated);
  noteFault(Fault::kAgentSilent, 0, loadRelaxed(grant_->seq), loadRelaxed(grant_->beat));
  sys::wakeAll(&grant_->word, true);
  background_.wake();
}

void LaunchGate::regate() {
  Mode ungated = Mode::kUngated;
  if (!mode_.compare_exchange_strong(ungated, Mode::kGated, std::memory_order_acq_rel)) return;
  board_.lower(ledger::kWorkUngated);
  pointAt(&grant_->word);
}

bool LaunchGate::standsOpen() {
  if (ungated() && lease_.moved(*grant_)) regate();
  return ungated();
}

// The agent treated our slot as that of a dead process, so the line may belong to another process.
void LaunchGate::lose() {
  mode_.store(Mode::kLost, std::memory_order_release);
  pointAt(&kOpenWord);
  noteFault(Fault::kNoWorkLine, 0);
}

void LaunchGate::endForExit() {
  mode_.store(Mode::kExiting, std::memory_order_release);
  pointAt(&kOpenWord);
  runtime().memory_gate.endForExit();
  runtime().context_use.endForExit();
  background_.stop();
  runtime().pagers.stop();
  runtime().ipc_exports.stop();
}

void LaunchGate::forgetAfterFork() {
  mode_.store(Mode::kDetached, std::memory_order_relaxed);
  word_at_.store(&kOpenWord, std::memory_order_relaxed);
  divvy_gate.store(&kOpenWord, std::memory_order_relaxed);
  board_.forgetAfterFork();
  lease_.forgetAfterFork();
  background_.forgetAfterFork();
  progress_.store(0, std::memory_order_relaxed);
  forgetGrant();
  free_noted_.store(0, std::memory_order_relaxed);
  activated_.store(0, std::memory_order_relaxed);
  captured_.store(0, std::memory_order_relaxed);
  budget_waits_.store(0, std::memory_order_relaxed);
  ticking_.store(false, std::memory_order_relaxed);
  free_watched_ = launches_seen_ = quiet_since_ = ticks_ = 0;
}

// Returns true if this process has a line in the work page. Without one the arbiter would never let
// it run.
bool LaunchGate::present() {
  if (board_.claim(runtime().tenant.account())) return true;
  if (board_.claiming()) return false;
  Mode gated = Mode::kGated;
  if (mode_.compare_exchange_strong(gated, Mode::kDetached, std::memory_order_acq_rel)) {
    pointAt(&kOpenWord);
    noteFault(Fault::kNoWorkLine, 0);
  }
  return false;
}

// ---- one launch --------------------------------------------------------------------------------

__attribute__((always_inline)) inline bool LaunchGate::goInside(ThreadLine* line,
                                                                std::uint32_t word) const {
  return markInside(
      line->admitted, word, [this] { return fences_; },
      [this, word] { return this->word() == word; });
}

std::uint64_t LaunchGate::inflightEnd() const {
  const UsageMeter& meter = runtime().meter;
  return meter.idle() ? 0 : larger(meter.inflightUntil(), 1);
}

bool LaunchGate::fits(const Need& need) const {
  const std::uint64_t bound = inflightBound();
  return bound == 0 || runtime().meter.unsettledOn(need.device) + need.estimate <= bound;
}

// A part of the bound on work in flight, but at least the usual wake-up delay of a sleeping thread.
// Otherwise the device would be idle each time until the thread runs.
std::uint64_t LaunchGate::lead() const {
  const std::uint64_t late = late_.load(std::memory_order_relaxed);
  return larger(smaller(inflightBound() / 4, kMaxSlack), late);
}

// Follows about the 90th percentile: it rises eight times as fast as it falls.
void LaunchGate::noteLate(std::uint64_t by) {
  by = smaller(by, kMaxLate);
  const std::uint64_t usual = late_.load(std::memory_order_relaxed);
  const std::uint64_t next = by > usual ? usual + (by - usual) / 4 : usual - (usual - by) / 32;
  late_.store(next, std::memory_order_relaxed);
}

// One long kernel may follow another without a gap.
bool LaunchGate::fitsSoon(const Need& need, std::uint64_t now) const {
  const UsageMeter& meter = runtime().meter;
  return meter.unsettledOn(need.device) == 0 || meter.untilOn(need.device) <= now + lead();
}

// Host functions run in the driver's own thread, which must continue for any work to end; fork
// handlers may hold locks that other threads need.
bool LaunchGate::mayWait() const {
  return !divvy_thread.callback && !divvy_thread.forking &&
         mode_.load(std::memory_order_relaxed) != Mode::kExiting;
}

// A launch into a capture starts nothing.
__attribute__((noinline)) bool LaunchGate::passesCaptured(const CallWork& work) {
  if (!mayBeCapturing(work.stream, work.per_thread)) return false;
  captured_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Handles the first launch under another word. Returns false if no arbiter gates this process now.
__attribute__((noinline)) bool LaunchGate::noteGrant(std::uint32_t word) {
  const ErrnoKeeper keeper;
  if (!board_.claimed() && !present()) return false;
  if (ungated() && standsOpen()) return false;
  ledger::raiseTo(board_.line().seen_seq, sequenceOf(word));
  // The meter does not know work that passed an open gate.
  const std::uint64_t free = countedFree();
  if (free_noted_.exchange(free, std::memory_order_relaxed) != free) runtime().meter.resume();
  // A thread that reads this word also sees the claimed line.
  word_noted_.store(word, std::memory_order_release);
  const bool quick = gateState(word) == GateState::kRun && !fences_;
  marked_word_.store(quick ? word : kNoWord, std::memory_order_release);
  quick_word_.store(quick ? word : kNoWord, std::memory_order_seq_cst);
  // Launches that may touch swappable memory must be marked, which the fast path does not do.
  if (runtime().memory_gate.active()) quick_word_.store(kNoWord, std::memory_order_seq_cst);
  return true;
}

void LaunchGate::forgetGrant() {
  word_noted_.store(0, std::memory_order_relaxed);
  quick_word_.store(kNoWord, std::memory_order_relaxed);
  marked_word_.store(kNoWord, std::memory_order_relaxed);
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
  const std::uint32_t word = this->word();
  const bool noted = word == word_noted_.load(std::memory_order_acquire) || noteGrant(word);
  if (__builtin_expect(!noted, 0)) return false;
  ThreadLine* line = divvy_thread.line;
  const Need need{runtime().meter.estimate(work, ticket), runtime().meter.deviceOf(work)};
  const bool admitted = gateState(word) == GateState::kRun && fits(need) && goInside(line, word);
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
  activated_.store(now, std::memory_order_relaxed);
  board_.turn(now);
  if (!board_.raise(ledger::kWorkInFlight)) return;
  background_.wake();
}

// ---- waiting -----------------------------------------------------------------------------------

bool LaunchGate::stalled(std::uint64_t since, std::uint64_t now) const {
  if (inflightEnd() == 0) return false;
  const std::uint32_t told = grant_ != nullptr ? loadRelaxed(grant_->escape_ms) : 0;
  const std::uint64_t escape = (told != 0 ? told : kDefaultEscapeMs) * kMillisecond;
  return now - larger(since, smaller(now, progress_.load(std::memory_order_relaxed))) >= escape;
}

// The waits of one launch, until it is admitted.
class LaunchGate::Wait {
 public:
  explicit Wait(LaunchGate& gate) : gate_(gate) {}
  ~Wait() {
    endHold();
    if (budgeted_) gate_.budget_waits_.fetch_sub(1, std::memory_order_relaxed);
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
  bool budget(std::uint32_t word, const Need& need);

 private:
  bool stuck(std::uint64_t now);
  bool spin(std::uint32_t word) const;
  void doze(std::uint32_t word, std::uint64_t until) const {
    sys::waitOn(&gate_.grant_->word, word, until, true);
  }

  LaunchGate& gate_;
  std::uint64_t since_ = 0;  // start of any wait
  bool held_ = false;
  bool budgeted_ = false;  // counted in budget_waits_
  bool tight_ = false;     // only few of these launches may be in flight
};

bool LaunchGate::Wait::stuck(std::uint64_t now) {
  if (since_ == 0) since_ = now;
  return gate_.stalled(since_, now);
}

bool LaunchGate::Wait::spin(std::uint32_t word) const {
  const std::uint64_t spin = loadRelaxed(gate_.grant_->spin_us) * kMicrosecond;
  const std::uint64_t until = sys::now() + smaller(spin, kMaxSpin);
  do {
    for (int i = 0; i < 16; ++i) {
      if (gate_.word() != word) return true;
      ledger::relax();
    }
  } while (sys::now() < until);
  return false;
}

bool LaunchGate::Wait::hold(std::uint32_t word) {
  std::uint64_t now = sys::now();
  const std::uint64_t seq = gate_.sequenceOf(word);
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
  if (!gate_.lease_.alive(*gate_.grant_, now)) {
    gate_.ungate();
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
  gate_.activated_.store(now, std::memory_order_relaxed);
  // After another tenant's turn the start of work becomes visible only when that tenant's work has
  // ended, a moment later.
  const bool turns = loadRelaxed(gate_.grant_->quantum_us) != 0;
  if (gate_.board_.endWait(now, turns)) gate_.background_.wake();
}

bool LaunchGate::Wait::budget(std::uint32_t word, const Need& need) {
  if (!budgeted_) {
    budgeted_ = true;
    gate_.budget_waits_.fetch_add(1, std::memory_order_relaxed);
    // Only this mark shows the end of the work that it waits for; without it the wait cost a
    // kernel's time on a real card.
    runtime().meter.mark();
    tight_ = need.estimate >= gate_.inflightBound() / 4;
  }
  const std::uint64_t now = sys::now();
  const Settled settled = runtime().meter.settle(now);
  gate_.noteProgress(settled, now);
  if (settled.ended) return true;
  if (stuck(now)) return false;
  const std::uint64_t lead = gate_.lead();
  const std::uint64_t until = runtime().meter.untilOn(need.device);
  const std::uint64_t wanted = until > now + lead ? until - lead : now + kShortestSleep;
  const std::uint64_t target = smaller(larger(wanted, now + kShortestSleep), now + kMillisecond);
  doze(word, target);
  const std::uint64_t woken = sys::now();
  if (woken > target) gate_.noteLate(woken - target);
  return true;
}

void LaunchGate::noteProgress(const Settled& settled, std::uint64_t now) {
  if (settled.ended) progress_.store(now, std::memory_order_relaxed);
}

// Lets one launch pass whatever the word is.
bool LaunchGate::force(ThreadLine* line) {
  ledger::bumpShared(board_.line().escapes, 1);
  noteFault(Fault::kGateEscaped, 0, runtime().meter.unsettled());
  while (word() != 0) {
    if (goInside(line, word())) return true;
  }
  return false;
}

// Returns false if no arbiter gates any more; the launch passes as through an open gate.
__attribute__((noinline)) bool LaunchGate::admitSlowly(ThreadLine* line, const Need& need) {
  const ErrnoKeeper keeper;
  Wait wait(*this);
  ResidencyGateRelease outside(line);
  const bool may_wait = mayWait();
  for (;;) {
    const std::uint32_t word = this->word();
    if (word == 0 || (ungated() && standsOpen())) {
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
    if (may_wait && !fits(need) && !fitsSoon(need, sys::now())) {
      outside.leave();
      if (!wait.budget(word, need)) return outside.comeBack() && force(line);
      continue;
    }
    if (goInside(line, word)) return true;
  }
}

}  // namespace divvy::interposer
