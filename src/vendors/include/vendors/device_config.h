// What HAMi was told of devices (`device-config.yaml`), read as it is: how resources are called
// here, and what is taken where a pod does not say. Source: facts on the incumbent's control plane,
// 4.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vendors/descriptor.h"

namespace divvy::vendors {

struct DeviceConfig {
  // The families that the file has, in its words; of lists (chips of one family) those listed.
  std::vector<Descriptor> families;
  // "nvidia.fooBar (FILE:3)": keys that nobody knows; those that only agents on nodes heed; and
  // those that mean something for placement that is not done.
  std::vector<std::string> unknown, of_agents, not_done;
};

// `yaml`: the file, or the ConfigMap that holds it. `over`: the families as they are otherwise:
// what the file does not say of a family stays. A chip that is not among them is made from the
// family's first. kUsage: file, line, column, what is wrong, what is accepted.
Result<DeviceConfig> readDeviceConfig(std::string_view yaml, const std::string& source,
                                      const std::vector<Descriptor>& over);

}  // namespace divvy::vendors
