#include "patience.h"

#include <time.h>

#include "ledger/atomic_word.h"
#include "syscalls.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kSpins = 64;  // about 2 us: longer than an operation, shorter than a time slice
constexpr long kNapNs = 50'000;  // lets a holder of lower real-time priority run

std::int64_t nowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

bool Patience::wait() {
  ++rounds_;
  if (rounds_ <= kSpins) {
    relax();
    return true;
  }
  const std::int64_t now = nowNs();
  if (deadline_ == 0) deadline_ = now + limit_ns_;
  if (rounds_ % 16 == 0) {
    const timespec nap{0, kNapNs};
    syscall(SYS_nanosleep, &nap, nullptr);
  } else {
    sysYield();
  }
  return now < deadline_;
}

}  // namespace divvy::ledger
