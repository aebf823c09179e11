// Whether the card's own time slices can be set here, and then hold: tried with two contexts.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::driver {

// What two contexts that both want the card all the time got of it.
struct TimesliceProbe {
  unsigned asked = 0;   // percent, for the one with the longer slice
  unsigned first = 0;   // percent that it got when it was the first of the two
  unsigned second = 0;  // and when it was the second

  // Within ten points both times.
  bool holds() const;
  std::string text() const;
};

// Runs in a process of its own (`divvy probe-timeslice`) into which libdivvy-timeslice.so is
// preloaded. Uses the device `uuid` for about half a second of its time, and two contexts' memory.
// kUnsupported: slices cannot be set, and why; any other error leaves it open.
Result<TimesliceProbe> probeTimeslice(const std::string& cuda, const std::string& uuid);

}  // namespace divvy::driver
