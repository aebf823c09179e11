// Cards of a node that its agent gives to nobody. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/oversubscription.h"

namespace divvy::agent {

// As told by name: those of other nodes may be among them, for one list may be many nodes'.
struct DeviceExclusions {
  std::vector<std::string> uuids;  // or the beginning of one, longer than "GPU-"
  std::vector<unsigned> indices;   // NVML's, which is PCI order
  friend bool operator==(const DeviceExclusions&, const DeviceExclusions&) = default;
};

// In the order of `devices`: all that a name fits.
std::vector<bool> excludedAmong(const DeviceExclusions& told,
                                const std::vector<DeviceName>& devices);

// Names that fit none of `devices`, in words: "index 9", "GPU-5c2e".
std::vector<std::string> namesOfNone(const DeviceExclusions& told,
                                     const std::vector<DeviceName>& devices);

}  // namespace divvy::agent
