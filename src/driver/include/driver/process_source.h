// Source of the processes that use a device. NVML reports PIDs of the caller's PID namespace, and
// leaves out processes outside of it. A program in a nested namespace needs a source in the node's
// namespace.
#pragma once

#include <string>
#include <vector>

#include "driver/nvml.h"

namespace divvy::driver {

// Both functions return the same values as Nvml, for the device with that UUID. Called by the
// thread that uses the Nvml.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  virtual std::vector<ProcessUse> processes(const std::string& uuid) = 0;
  virtual std::vector<ProcessTime> times(const std::string& uuid) = 0;
};

}  // namespace divvy::driver
