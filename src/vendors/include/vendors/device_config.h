// Reader of HAMi's `device-config.yaml`: names of resources and defaults. Source: facts on the
// incumbent's control plane, 4.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vendors/descriptor.h"

namespace divvy::vendors {

struct DeviceConfig {
  // Families in the file, in its order and names; of lists (chips of one family) only the listed
  // ones.
  std::vector<Descriptor> families;
  // Keys such as "nvidia.fooBar (FILE:3)": unknown ones, ones that only agents use, and ones for
  // placement that Divvy does not support.
  std::vector<std::string> unknown, of_agents, not_done;
};

// Reads the file, or the ConfigMap that holds it. Settings of a family that the file does not have
// stay as in `over`. A chip that is not in `over` is made from the family's first one. kUsage:
// file, line, column, fault and accepted input.
Result<DeviceConfig> readDeviceConfig(std::string_view yaml, const std::string& source,
                                      const std::vector<Descriptor>& over);

}  // namespace divvy::vendors
