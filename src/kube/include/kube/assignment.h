// Assignment: the devices of a pod's containers, as an annotation. Source: facts on the incumbent's
// control plane, 2.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

struct AssignedDevice {
  std::string uuid;
  std::string type;  // the kind's word; for AMD the product's name
  std::uint64_t mebibytes = 0;
  std::uint32_t cores = 0;  // percent; for AMD compute units
  friend bool operator==(const AssignedDevice&, const AssignedDevice&) = default;
};

// Devices by container, init containers first. A container without devices has an empty list.
using Assignment = std::vector<std::vector<AssignedDevice>>;

// Returns "GPU-a,NVIDIA,3000,30:;;": each device ends with ':', each container with ';'.
std::string encode(const Assignment& assignment);
// Decodes an assignment. kCorrupt names container, device, fault and expected form.
Result<Assignment> decodeAssignment(std::string_view text);
// Decodes the devices of one container, the text between two ';'. `container` is its index, for
// messages. kCorrupt: as decodeAssignment().
Result<std::vector<AssignedDevice>> decodeDevices(std::string_view text, std::size_t container);

}  // namespace divvy::kube
