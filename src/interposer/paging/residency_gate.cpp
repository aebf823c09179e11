#include "paging/residency_gate.h"

#include "cuda/capture_scope.h"
#include "cuda/context_guard.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using ledger::SwapRefusal;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kLongestSleep = 100 * kMillisecond;
constexpr std::uint64_t kDefaultDrainMs = 2000;
constexpr long kInsideNap = 200'000;

const std::uint32_t* futexOf(const std::atomic<std::uint32_t>& word) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<const std::uint32_t*>(&word);
}

// The waits of one thread, as published to the agent.
class Waiting {
 public:
  Waiting() = default;
  ~Waiting() {
    if (since_ != 0) runtime().swap_board.endWait();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Start of the first wait.
  std::uint64_t begin() {
    if (since_ != 0) return since_;
    since_ = sys::now();
    runtime().swap_board.beginWait(since_);
    runtime().pagers.wake();
    return since_;
  }

 private:
  std::uint64_t since_ = 0;
};

}  // namespace

void ResidencyGate::activate() {
  if (active()) return;
  const ErrnoKeeper keeper;
  fences_.store(!registerDrainFence(), std::memory_order_relaxed);
  active_.store(true, std::memory_order_seq_cst);
  runtime().gate.meterAlways();
}

bool ResidencyGate::replace(std::uint32_t seen, std::uint32_t states) {
  if (!word_.compare_exchange_strong(seen, changed(seen, states), std::memory_order_seq_cst)) {
    return false;
  }
  sys::wakeAll(futexOf(word_), false);
  return true;
}

// ---- threads of the application ----------------------------------------------------------------

// Host functions run in the driver's own thread, which must continue for any work to end; fork
// handlers may hold locks that other threads need.
CUresult ResidencyGate::refusal() const {
  if (divvy_thread.callback || divvy_thread.forking) return CUDA_ERROR_NOT_PERMITTED;
  return exiting_.load(std::memory_order_acquire) ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
}

__attribute__((noinline)) CUresult ResidencyGate::enterSlowly(ThreadLine* line,
                                                              const CallWork* work) {
  const ErrnoKeeper keeper;
  Waiting waiting;
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    // Captures begin while all memory is resident, and no memory leaves before they have ended.
    const bool captured = seen == ((seen & ~kStates) | kMissing) && work != nullptr &&
                          runtime().captures.open() &&
                          mayBeCapturing(work->stream, work->per_thread);
    if ((seen & kStates) == 0 || captured) {
      if (mark(line, seen)) return CUDA_SUCCESS;
      continue;
    }
    const CUresult refused = refusal();
    if (refused != CUDA_SUCCESS) return refused;
    wait(seen, waiting.begin());
  }
}

CUresult ResidencyGate::awaitOpen() {
  const ErrnoKeeper keeper;
  Waiting waiting;
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    if ((seen & kStates) == 0) return CUDA_SUCCESS;
    const CUresult refused = refusal();
    if (refused != CUDA_SUCCESS) return refused;
    wait(seen, waiting.begin());
  }
}

std::uint64_t ResidencyGate::drainBound() const {
  const std::uint32_t told = ledger::loadRelaxed(runtime().tenant.control().header.swap.drain_ms);
  return (told != 0 ? told : kDefaultDrainMs) * kMillisecond;
}

// The awaited work may depend on work that this thread must do.
bool ResidencyGate::overdue(std::uint64_t since, std::uint64_t now) const {
  const std::uint64_t drained_since = drain_since_.load(std::memory_order_acquire);
  return (now > drained_since && now - drained_since >= drainBound()) ||
         runtime().gate.stalled(since, now);
}

void ResidencyGate::wait(std::uint32_t seen, std::uint64_t since) {
  const std::uint64_t now = sys::now();
  const bool draining = (seen & kDraining) != 0;
  if (draining && overdue(since, now)) {
    replace(seen, seen & kMissing);
    return;
  }
  // A signal handler that launches now must wait as well.
  const std::uint32_t depth = divvy_thread.depth;
  divvy_thread.depth = 0;
  sys::waitOn(futexOf(word_), seen, now + (draining ? kMillisecond : kLongestSleep), false);
  divvy_thread.depth = depth;
}

void ResidencyGate::shut() {
  const ErrnoKeeper keeper;
  // Replaced even if the value stays, because a thread that is about to open has not seen the new
  // memory.
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    if (replace(seen, (seen & kStates) | kMissing)) break;
  }
  SwapReport& board = runtime().swap_board;
  if (!board.lower(ledger::kSwapReady)) board.ring();
  runtime().pagers.wake();
}

// ---- the pager ---------------------------------------------------------------------------------

SwapRefusal ResidencyGate::close() {
  // Another drain's view of the threads proves nothing for this one.
  if (drain_busy_.exchange(true, std::memory_order_acquire)) return SwapRefusal::kNotDrained;
  SwapRefusal refused = SwapRefusal::kNone;
  if (beginDrain()) {
    refused = drain();
    if (refused != SwapRefusal::kNone) abandonDrain();
  }
  drain_busy_.store(false, std::memory_order_release);
  return refused;
}

// Returns false if the gate is closed already.
bool ResidencyGate::beginDrain() {
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    // Replaced even if the value stays, because a thread that is about to open did not know that it
    // is needed closed.
    if ((seen & kClosed) != 0) {
      if (replace(seen, seen & kStates)) return false;
      continue;
    }
    drain_since_.store(sys::now(), std::memory_order_release);
    if (replace(seen, (seen & kMissing) | kDraining)) return true;
  }
}

bool ResidencyGate::awaitOutside(std::uint64_t until) const {
  while (anyTouching()) {
    if ((word_.load(std::memory_order_seq_cst) & kDraining) == 0) return false;
    if (exiting_.load(std::memory_order_acquire) || sys::now() >= until) return false;
    sys::nap(kInsideNap);
  }
  return true;
}

SwapRefusal ResidencyGate::drain() {
  // A thread that begins a capture counts it first and reads the gate then.
  if (runtime().captures.open()) return SwapRefusal::kCapturing;
  if (!fenceAllThreads(fences_.load(std::memory_order_relaxed))) return SwapRefusal::kNotDrained;
  const std::uint64_t until = drain_since_.load(std::memory_order_relaxed) + drainBound();
  if (!awaitOutside(until)) return SwapRefusal::kNotDrained;
  const CUresult ended = runtime().context_use.synchronizeAll();
  if (ended == CUDA_ERROR_NOT_READY) return SwapRefusal::kNotDrained;
  if (ended != CUDA_SUCCESS) return SwapRefusal::kDriver;
  if (anyTouching()) return SwapRefusal::kNotDrained;
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    if ((seen & kDraining) == 0 || runtime().captures.open()) return SwapRefusal::kNotDrained;
    if (replace(seen, (seen & kMissing) | kClosed)) return SwapRefusal::kNone;
  }
}

void ResidencyGate::abandonDrain() {
  for (;;) {
    const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    if ((seen & kDraining) == 0 || replace(seen, seen & kMissing)) return;
  }
}

bool ResidencyGate::reopen(std::uint32_t seen) {
  return (seen & kStates) == 0 || replace(seen, 0);
}

void ResidencyGate::endForExit() {
  exiting_.store(true, std::memory_order_release);
  sys::wakeAll(futexOf(word_), false);
}

void ResidencyGate::forgetAfterFork() {
  word_.store(0, std::memory_order_relaxed);
  active_.store(false, std::memory_order_relaxed);
  drain_busy_.store(false, std::memory_order_relaxed);
  exiting_.store(false, std::memory_order_relaxed);
}

bool startSwapping() {
  Runtime& state = runtime();
  if (!state.swap_board.claim() || !state.pagers.start()) return false;
  state.memory_gate.activate();
  return true;
}

}  // namespace divvy::interposer
