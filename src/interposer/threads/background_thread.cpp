#include "threads/background_thread.h"

#include "ledger/atomic_word.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/internal_thread.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

using ledger::loadAcquire;
using ledger::storeRelease;

constexpr std::uint64_t kStopPatience = 10'000'000;
constexpr std::uint64_t kStopLook = 200'000;

}  // namespace

std::uint64_t BackgroundThread::ownTime() {
  struct timespec time = {0, 0};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void BackgroundThread::wake() {
  State seen = state_.load(std::memory_order_acquire);
  if (seen == State::kRunning || seen == State::kStarting) {
    __atomic_fetch_add(&word_, 1, __ATOMIC_RELEASE);
    sys::wakeAll(&word_, false);
    return;
  }
  if (seen != State::kNone || !state_.compare_exchange_strong(seen, State::kStarting)) return;
  const int failed = startOwnThread(run, this);
  state_.store(failed == 0 ? State::kRunning : State::kMissing, std::memory_order_release);
  if (failed != 0) noteFault(Fault::kNoHelper, 0, static_cast<std::uint64_t>(failed));
}

void* BackgroundThread::run(void* self) {
  beginOwnThread("divvy");
  static_cast<BackgroundThread*>(self)->loop();
  return nullptr;
}

void BackgroundThread::loop() {
  while (!stop_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = loadAcquire(word_);
    const std::uint64_t next = runtime().gate.tick(sys::now());
    if (stop_.load(std::memory_order_acquire)) break;
    runtime().gate.sleepUntil(next, word_, seen);
  }
  storeRelease(parked_, 1u);
  sys::wakeAll(&parked_, false);
  for (;;) sys::waitOn(&parked_, 1, 0, false);
}

void BackgroundThread::stop() {
  const State state = state_.load(std::memory_order_acquire);
  if (state != State::kRunning && state != State::kStarting) return;
  stop_.store(true, std::memory_order_release);
  wake();
  const std::uint64_t until = sys::now() + kStopPatience;
  while (loadAcquire(parked_) == 0 && sys::now() < until) {
    runtime().gate.rouse();  // it may just have started to wait there
    sys::waitOn(&parked_, 0, sys::now() + kStopLook, false);
  }
}

void BackgroundThread::forgetAfterFork() {
  state_.store(State::kNone, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  word_ = 0;
  parked_ = 0;
}

}  // namespace divvy::interposer
