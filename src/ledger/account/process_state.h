// Private state of a process's account: one page that the kernel zeroes in each forked child
// (MADV_WIPEONFORK). So a child starts over whatever its parent's threads held, even if a raw
// system call forked it without pthread_atfork handlers. All zeros = no slot.
#pragma once

#include <cstdint>

#include "ledger/layout.h"

namespace divvy::ledger {

struct ProcessState {
  // 0, or generation << 16 | slot + 1. Set once per process, by the thread that wins.
  alignas(64) std::uint64_t claimed;
  // Releases by a signal handler that interrupted the thread that holds the lane, and releases that
  // found no lane in time. The next reserve or release settles them.
  std::uint64_t any_deferred;
  std::uint64_t deferred[kMaxDevices];
  struct LaneOwner {
    alignas(64) std::uint64_t thread;  // thread pointer of the holder, 0: free
  } lanes[kLanes];
};
static_assert(sizeof(ProcessState) <= 4096);

constexpr std::uint64_t packClaim(unsigned slot, std::uint64_t generation) {
  return (generation << 16) | (slot + 1);
}
constexpr unsigned claimSlot(std::uint64_t claim) {
  return static_cast<unsigned>(claim & 0xffff) - 1;
}
constexpr std::uint64_t claimGeneration(std::uint64_t claim) {
  return claim >> 16;
}

// A number that no two living threads of a process share; never 0.
inline std::uint64_t threadId() {
  std::uint64_t id;
#if defined(__x86_64__)
  asm("mov %%fs:0, %0" : "=r"(id));
#else
  asm("mrs %0, tpidr_el0" : "=r"(id));
#endif
  return id;
}

}  // namespace divvy::ledger
