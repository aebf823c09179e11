#include "threads/thread_state.h"

#include <pthread.h>

#include "runtime.h"
#include "support/syscalls.h"

extern "C" {
constinit thread_local divvy::interposer::ThreadState divvy_thread{};
constinit divvy::interposer::ThreadLine divvy_thread_lines[divvy::interposer::kThreadLines] = {};
}

namespace divvy::interposer {
namespace {

constexpr unsigned kLines = kThreadLines;
constexpr auto& lines = divvy_thread_lines;
// Lines from here on were never taken, except the shared one.
constinit std::atomic<unsigned> lines_used{0};

constexpr unsigned kKeyNone = 0;
constexpr unsigned kKeyMaking = 1;
constexpr unsigned kKeyReady = 2;
constinit std::atomic<unsigned> key_state{kKeyNone};
constinit pthread_key_t key;

// Launches that other thread-exit handlers still make are counted in the shared line.
void giveBack(void* line) {
  divvy_thread.line = &lines[kLines - 1];
  divvy_thread.shared_line = true;
  // A thread that was cancelled inside the driver is not there any more.
  static_cast<ThreadLine*>(line)->admitted.store(0, std::memory_order_relaxed);
  static_cast<ThreadLine*>(line)->touching.store(0, std::memory_order_relaxed);
  static_cast<ThreadLine*>(line)->taken.store(0, std::memory_order_release);
}

// Returns false if there is no key (yet); then the line stays with the thread for good.
bool exitKeyReady() {
  unsigned state = key_state.load(std::memory_order_acquire);
  if (state == kKeyReady) return true;
  if (state != kKeyNone || !key_state.compare_exchange_strong(state, kKeyMaking)) return false;
  if (::pthread_key_create(&key, giveBack) != 0) return false;
  key_state.store(kKeyReady, std::memory_order_release);
  return true;
}

void noteUsed(unsigned index) {
  unsigned seen = lines_used.load(std::memory_order_relaxed);
  while (seen <= index && !lines_used.compare_exchange_weak(seen, index + 1)) {
  }
}

std::uint64_t sumOf(std::atomic<std::uint64_t> ThreadLine::*counter) {
  std::uint64_t sum = 0;
  forEachThreadLine(
      [&](const ThreadLine& line) { sum += (line.*counter).load(std::memory_order_relaxed); });
  return sum;
}

}  // namespace

unsigned usedThreadLines() {
  return lines_used.load(std::memory_order_acquire);
}

ThreadLine* takeThreadLine() {
  const ErrnoKeeper keeper;
  ThreadLine* line = &lines[kLines - 1];
  for (unsigned i = 0; i < kLines - 1; ++i) {
    std::uint32_t expected = 0;
    if (lines[i].taken.load(std::memory_order_relaxed) == 0 &&
        lines[i].taken.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
      line = &lines[i];
      noteUsed(i);
      break;
    }
  }
  divvy_thread.line = line;
  divvy_thread.shared_line = isShared(*line);
  if (!isShared(*line) && exitKeyReady()) ::pthread_setspecific(key, line);
  runtime().gate.watch();
  return line;
}

std::uint64_t countedFree() {
  return sumOf(&ThreadLine::free);
}

std::uint64_t countedExempt() {
  return sumOf(&ThreadLine::exempt);
}

std::uint64_t countedMetered() {
  return sumOf(&ThreadLine::metered);
}

void forgetThreadLines() {
  for (ThreadLine& line : lines) {
    line.taken.store(0, std::memory_order_relaxed);
    line.free.store(0, std::memory_order_relaxed);
    line.exempt.store(0, std::memory_order_relaxed);
    line.metered.store(0, std::memory_order_relaxed);
    line.admitted.store(0, std::memory_order_relaxed);
    line.touching.store(0, std::memory_order_relaxed);
  }
  divvy_thread.callback = false;
  divvy_thread.forking = false;
  divvy_thread.touching = 0;
  divvy_thread.shared_line = false;
  divvy_thread.line = nullptr;
}

}  // namespace divvy::interposer
