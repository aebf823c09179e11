// The host's CLOCK_MONOTONIC: the clock of all instants that agent and tenants exchange.
#pragma once

#include <time.h>

#include "arbiter/policy.h"

namespace divvy::arbiter {

inline Nanos clockNow(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

inline timespec asTimespec(Nanos instant) {
  return {instant / kSecond, instant % kSecond};
}

}  // namespace divvy::arbiter
