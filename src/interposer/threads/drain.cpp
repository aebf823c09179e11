#include "threads/drain.h"

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

// The kernel's numbers; older headers lack them.
constexpr int kBarrierPrivate = 1 << 3;
constexpr int kBarrierRegister = 1 << 4;

bool barrier(int command) {
  return ::syscall(SYS_membarrier, command, 0) == 0;
}

}  // namespace

bool registerDrainFence() {
  return barrier(kBarrierRegister);
}

bool fenceAllThreads(bool threads_fence) {
  if (!threads_fence) return barrier(kBarrierPrivate);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

bool insideUnderOther(std::uint32_t word) {
  bool found = false;
  forEachThreadLine([&](const ThreadLine& line) {
    const std::uint32_t admitted = line.admitted.load(std::memory_order_acquire);
    if (admitted != 0 && (isShared(line) || admitted != word)) found = true;
  });
  return found;
}

bool anyTouching() {
  bool found = false;
  forEachThreadLine([&](const ThreadLine& line) {
    found = found || line.touching.load(std::memory_order_acquire) != 0;
  });
  return found;
}

}  // namespace divvy::interposer
