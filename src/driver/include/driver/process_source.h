// Who says which processes use a device. NVML names them by the pid namespace of whoever asks, and
// leaves out whom that does not see: a program below the node's has somebody there ask.
#pragma once

#include <string>
#include <vector>

#include "driver/nvml.h"

namespace divvy::driver {

// One thread at a time, that of the Nvml which it was given to. Both as Nvml has them, of the
// device with that UUID.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  virtual std::vector<ProcessUse> processes(const std::string& uuid) = 0;
  virtual std::vector<ProcessTime> times(const std::string& uuid) = 0;
};

}  // namespace divvy::driver
