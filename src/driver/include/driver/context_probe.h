// What one CUDA context costs on a card, measured by making one.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::driver {

// Runs in a process of its own (`divvy probe-context`): it loads the CUDA driver, which must never
// happen in a daemon. Creates and drops the primary context of the device `uuid` and returns what
// NVML says the process then uses, or, where NVML does not tell processes apart, by how much the
// device's use grew. `cuda` and `nvml` are absolute paths or sonames.
Result<Bytes> probeContext(const std::string& cuda, const std::string& nvml,
                           const std::string& uuid);

}  // namespace divvy::driver
