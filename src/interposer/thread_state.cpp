#include "thread_state.h"

#include <pthread.h>

#include "sys.h"

extern "C" {
constinit thread_local divvy::interposer::ThreadState divvy_thread{0, false, nullptr};
}

namespace divvy::interposer {
namespace {

// The last line is shared by all threads beyond the others; a few of its counts may be lost.
constexpr unsigned kLines = 512;
constinit ThreadLine lines[kLines] = {};

constexpr unsigned kKeyNone = 0;
constexpr unsigned kKeyMaking = 1;
constexpr unsigned kKeyReady = 2;
constinit std::atomic<unsigned> key_state{kKeyNone};
constinit pthread_key_t key;

// Launches that other thread-exit handlers still make are counted in the shared line.
void giveBack(void* line) {
  divvy_thread.line = &lines[kLines - 1];
  static_cast<ThreadLine*>(line)->taken.store(0, std::memory_order_release);
}

// False when no key is to be had (yet): then the line stays with the thread for ever.
bool exitKeyReady() {
  unsigned state = key_state.load(std::memory_order_acquire);
  if (state == kKeyReady) return true;
  if (state != kKeyNone || !key_state.compare_exchange_strong(state, kKeyMaking)) return false;
  if (::pthread_key_create(&key, giveBack) != 0) return false;
  key_state.store(kKeyReady, std::memory_order_release);
  return true;
}

}  // namespace

ThreadLine* takeThreadLine() {
  const ErrnoKeeper keeper;
  ThreadLine* line = &lines[kLines - 1];
  for (unsigned i = 0; i < kLines - 1; ++i) {
    std::uint32_t expected = 0;
    if (lines[i].taken.load(std::memory_order_relaxed) == 0 &&
        lines[i].taken.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
      line = &lines[i];
      break;
    }
  }
  divvy_thread.line = line;
  if (line != &lines[kLines - 1] && exitKeyReady()) ::pthread_setspecific(key, line);
  return line;
}

std::uint64_t countedLaunches() {
  std::uint64_t sum = 0;
  for (const ThreadLine& line : lines) sum += line.launches.load(std::memory_order_relaxed);
  return sum;
}

void forgetThreadLines() {
  for (ThreadLine& line : lines) {
    line.taken.store(0, std::memory_order_relaxed);
    line.launches.store(0, std::memory_order_relaxed);
  }
  divvy_thread.line = nullptr;
}

}  // namespace divvy::interposer
