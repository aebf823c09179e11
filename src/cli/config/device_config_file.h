// HAMi's configuration of device families, read from a file.
#pragma once

#include <string>

#include "base/result.h"
#include "vendors/device_config.h"

namespace divvy::cli {

// The families that it has; of no file (empty) those that are built in. Errors name --device-config
// and say what is wrong where.
Result<vendors::DeviceConfig> readDeviceConfigFile(const std::string& file);

}  // namespace divvy::cli
