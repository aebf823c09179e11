#include "cuda/engine/engine_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "card/card_clock.h"

namespace divvy::simgpu {
namespace {

// In real time. A shorter sleep takes longer than this, because the wake-up alone costs some 50 us.
constexpr Nanos kWorthSleeping = 15'000;

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* until) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation | FUTEX_PRIVATE_FLAG,
                 value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void WaitWord::wait(std::uint32_t seen, Nanos until) {
  const Nanos now = clockNow();
  if (until <= now) return;
  if (until != kNever && realDuration(until - now) < kWorthSleeping) {
    while (value_.load(std::memory_order_relaxed) == seen && clockNow() < until) {
      // Only lets a sibling hyperthread run.
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    return;
  }
  const timespec deadline = until == kNever ? timespec{} : realTimeOf(until);
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  futex(&value_, FUTEX_WAIT_BITSET, seen, until == kNever ? nullptr : &deadline);
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void WaitWord::bump() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (waiters_.load(std::memory_order_seq_cst) != 0) {
    futex(&value_, FUTEX_WAKE_BITSET, INT_MAX, nullptr);
  }
}

void waitUntil(Nanos until) {
  WaitWord nobody;  // never bumped: only the time ends the wait
  while (clockNow() < until) nobody.wait(nobody.value(), until);
}

}  // namespace divvy::simgpu
