// Cards of a node that the agent does not allocate. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/oversubscription.h"

namespace divvy::agent {

// Excluded devices by name. One list may serve many nodes, so names of other nodes' devices are
// valid.
struct DeviceExclusions {
  std::vector<std::string> uuids;  // UUIDs, or prefixes longer than "GPU-"
  std::vector<unsigned> indices;   // NVML's, in PCI order
  friend bool operator==(const DeviceExclusions&, const DeviceExclusions&) = default;
};

// Whether each of `devices` is excluded, in their order.
std::vector<bool> excludedAmong(const DeviceExclusions& told,
                                const std::vector<DeviceName>& devices);

// Names that match none of `devices`: "index 9", "GPU-5c2e".
std::vector<std::string> namesOfNone(const DeviceExclusions& told,
                                     const std::vector<DeviceName>& devices);

}  // namespace divvy::agent
