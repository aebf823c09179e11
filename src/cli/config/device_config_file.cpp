#include "config/device_config_file.h"

#include "files/simulate_files.h"

namespace divvy::cli {

Result<vendors::DeviceConfig> readDeviceConfigFile(const std::string& file) {
  vendors::DeviceConfig none;
  none.families = vendors::builtIn();
  if (file.empty()) return none;
  const Result<std::string> text = readFile(file, "a device configuration");
  if (!text) return Error(text.error()).context("--device-config");
  Result<vendors::DeviceConfig> config = vendors::readDeviceConfig(*text, file, vendors::builtIn());
  if (!config) return Error(config.error()).context("--device-config");
  return config;
}

}  // namespace divvy::cli
