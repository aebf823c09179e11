#include "lane_holder.h"

#include <time.h>

#include "syscalls.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kSpins = 64;  // about 2 us: longer than an operation, shorter than a time slice
constexpr std::int64_t kPatienceNs = 100'000'000;  // S1: no wait is longer
constexpr long kNapNs = 50'000;                    // lets a holder of lower real-time priority run

std::int64_t nowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Paces one waiting loop. False when the patience has run out.
class Patience {
 public:
  bool wait() {
    ++rounds_;
    if (rounds_ <= kSpins) {
      relax();
      return true;
    }
    const std::int64_t now = nowNs();
    if (deadline_ == 0) deadline_ = now + kPatienceNs;
    if (rounds_ % 16 == 0) {
      const timespec nap{0, kNapNs};
      syscall(SYS_nanosleep, &nap, nullptr);
    } else {
      sysYield();
    }
    return now < deadline_;
  }

 private:
  unsigned rounds_ = 0;
  std::int64_t deadline_ = 0;
};

unsigned homeLane(std::uint64_t self) {
  return static_cast<unsigned>((self * 0x9e3779b97f4a7c15) >> 62);
}
static_assert(kLanes == 4, "homeLane takes two bits");

int waitForAnyLane(PrivateState& state, std::uint64_t self) {
  const ErrnoKeeper keeper;
  for (Patience patience;;) {
    bool somebody_else = false;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t holder = loadRelaxed(state.lanes[lane].thread);
      if (holder == 0 && tryHold(state, lane, self)) return static_cast<int>(lane);
      somebody_else = somebody_else || holder != self;
    }
    if (!somebody_else || !patience.wait()) return -1;
  }
}

}  // namespace

int holdAnyLane(PrivateState& state) {
  const std::uint64_t self = threadId();
  const unsigned home = homeLane(self);
  for (unsigned i = 0; i < kLanes; ++i) {
    const unsigned lane = (home + i) % kLanes;
    if (tryHold(state, lane, self)) return static_cast<int>(lane);
  }
  return waitForAnyLane(state, self);
}

bool holdAllLanes(PrivateState& state) {
  const ErrnoKeeper keeper;
  const std::uint64_t self = threadId();
  Patience patience;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    while (!tryHold(state, lane, self)) {
      if (loadRelaxed(state.lanes[lane].thread) != self && patience.wait()) continue;
      while (lane > 0) letGo(state, --lane);
      return false;
    }
  }
  return true;
}

}  // namespace divvy::ledger
