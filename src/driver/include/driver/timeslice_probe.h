// Tests with two contexts whether the device's own time slices can be set and are effective.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::driver {

// The parts of a device's time that two contexts got that always want to run.
struct TimesliceProbe {
  unsigned asked = 0;   // percent for the context with the longer slice
  unsigned first = 0;   // percent that it got as the first of the two
  unsigned second = 0;  // and as the second

  // Returns true if both parts are within ten points of `asked`.
  bool holds() const;
  std::string text() const;
};

// Must run in a process of its own (`divvy probe-timeslice`) with libdivvy-timeslice.so preloaded.
// Uses the device `uuid` for about half a second of its time, and the memory of two contexts.
// kUnsupported: slices cannot be set; the message has the reason. Other errors decide nothing.
Result<TimesliceProbe> probeTimeslice(const std::string& cuda, const std::string& uuid);

}  // namespace divvy::driver
