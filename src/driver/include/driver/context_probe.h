// Measures the memory of one CUDA context on a device by creating one.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::driver {

// Must run in a process of its own (`divvy probe-context`): it loads the CUDA driver, which must
// never happen in a daemon. Creates and destroys the primary context of the device `uuid`. Returns
// the process's use according to NVML. If NVML does not distinguish processes, returns the growth
// of the device's use. `cuda` and `nvml` are absolute paths or sonames.
Result<Bytes> probeContext(const std::string& cuda, const std::string& nvml,
                           const std::string& uuid);

}  // namespace divvy::driver
