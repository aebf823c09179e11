#include "doorbell.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "clock.h"

namespace divvy::arbiter {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void Doorbell::ring() {
  own_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &own_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::clear() {
  futex_waitv own{};
  own.uaddr = reinterpret_cast<std::uintptr_t>(&own_);
  own.flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  bells_.assign(1, own);
}

void Doorbell::add(const std::uint32_t* bell, std::uint32_t known) {
  futex_waitv entry{};
  entry.val = known;
  entry.uaddr = reinterpret_cast<std::uintptr_t>(bell);
  entry.flags = FUTEX_32;  // shared: other processes wake it
  bells_.push_back(entry);
}

bool Doorbell::wait(Nanos until) {
  const std::size_t count = std::min(bells_.size(), kMany);
  const bool has_bells = bells_.size() > 1;
  if (has_bells && (!many_ || count < bells_.size())) until = std::min(until, clockNow() + kPoll);
  if (!many_ || !has_bells) return waitOne(until);
  bells_[0].val = observed_;
  const timespec deadline = asTimespec(until);
  const long got = syscall(SYS_futex_waitv, bells_.data(), static_cast<unsigned>(count), 0,
                           until == kNever ? nullptr : &deadline, CLOCK_MONOTONIC);
  const int fault = got < 0 ? errno : 0;
  if (fault == ENOSYS) many_ = false;
  return fault != EFAULT;
}

bool Doorbell::waitOne(Nanos until) {
  const timespec deadline = asTimespec(until);
  // The bitset form takes an instant, not a duration.
  syscall(SYS_futex, &own_, FUTEX_WAIT_BITSET_PRIVATE, observed_,
          until == kNever ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  return true;
}

}  // namespace divvy::arbiter
