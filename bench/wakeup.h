// How late this machine wakes sleepers up: what no program on it can be faster than.
#pragma once

#include "samples.h"

namespace divvy::bench {

struct WakeupLatency {
  Samples futex_us;  // from a wake in one process until another one runs
  Samples sleep_us;  // how much longer than asked for a sleep of 1 ms takes
};

// Takes about a second. Empty samples when no second process could be made.
WakeupLatency measureWakeups();

}  // namespace divvy::bench
