// Reads HAMi's configuration of device families from a file.
#pragma once

#include <string>

#include "base/result.h"
#include "vendors/device_config.h"

namespace divvy::cli {

// Returns the families of a file, or the built-in ones for an empty name. Errors name
// --device-config, the place, and the cause.
Result<vendors::DeviceConfig> readDeviceConfigFile(const std::string& file);

}  // namespace divvy::cli
