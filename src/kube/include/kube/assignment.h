// Which devices the containers of a pod were given, as annotations say it. Source: facts on the
// incumbent's control plane, 2.2.
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
  std::string type;  // the kind's word, of AMD the product's name
  std::uint64_t mebibytes = 0;
  std::uint32_t cores = 0;  // percent; of AMD compute units
  friend bool operator==(const AssignedDevice&, const AssignedDevice&) = default;
};

// By container, init containers first; one without devices has an empty list.
using Assignment = std::vector<std::vector<AssignedDevice>>;

// "GPU-a,NVIDIA,3000,30:;;" : each device ends with ':', each container with ';'.
std::string encode(const Assignment& assignment);
// kCorrupt: which container and device, what is wrong, what was expected.
Result<Assignment> decodeAssignment(std::string_view text);
// What one container has, the `container`-th: what is between two ';'.
Result<std::vector<AssignedDevice>> decodeDevices(std::string_view text, std::size_t container);

}  // namespace divvy::kube
