#include "process/bounded_wait.h"

#include <time.h>

#include "ledger/atomic_word.h"
#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kSpins = 64;  // about 2 us: longer than an operation, shorter than a time slice
constexpr long kNapNs = 50'000;  // lets a lane holder of lower real-time priority run
constexpr std::int64_t kLongestRoundNs = 1'000'000;  // a yield and a nap take a tenth of it

std::int64_t nowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

bool BoundedWait::lasts(std::int64_t now_ns) {
  const std::int64_t passed = last_ns_ == kNever ? 0 : now_ns - last_ns_;
  last_ns_ = now_ns;
  left_ns_ -= passed < kLongestRoundNs ? passed : kLongestRoundNs;
  return left_ns_ > 0;
}

bool BoundedWait::wait() {
  ++rounds_;
  if (rounds_ <= kSpins) {
    relax();
    return true;
  }
  if (!lasts(nowNs())) return false;
  if (rounds_ % 16 == 0) {
    const timespec nap{0, kNapNs};
    syscall(SYS_nanosleep, &nap, nullptr);
  } else {
    sysYield();
  }
  return true;
}

}  // namespace divvy::ledger
