#include "barrier.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace divvy::bench {
namespace {

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

}  // namespace

bool Barrier::meet(std::uint32_t parties) {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    futex(&generation_, FUTEX_WAKE, INT_MAX, nullptr);
    return true;
  }
  constexpr timespec kBound{60, 0};
  while (generation_.load(std::memory_order_acquire) == generation) {
    if (futex(&generation_, FUTEX_WAIT, generation, &kBound) != 0 && errno == ETIMEDOUT) {
      return false;
    }
  }
  return true;
}

}  // namespace divvy::bench
