// The use of a card as NVML's sampler sees it. It covers the whole windows of 1/6 s of the last
// second, never the window that is still running.
#pragma once

#include <cstdint>
#include <vector>

#include "nvml/machine.h"

namespace divvy::simgpu {

struct BusyProcess {
  int pid;
  unsigned compute_percent;
  unsigned copy_percent;
};

struct BusySample {
  std::uint64_t time_us = 0;  // CLOCK_REALTIME at the end of the last whole window
  unsigned compute_percent = 0;
  unsigned copy_percent = 0;
  std::vector<BusyProcess> processes;  // only those that were busy at all
};

BusySample sampleBusy(NvmlCard& card);

}  // namespace divvy::simgpu
