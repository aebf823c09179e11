// MIG instances of a pod's containers, as an annotation. Source: facts on the incumbent's control
// plane, 2.2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

struct AssignedInstance {
  std::size_t container = 0;  // index; init containers first
  std::size_t device = 0;     // index among the container's devices
  std::string uuid;           // of the whole device
  std::string profile;        // "2g.20gb"
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  friend bool operator==(const AssignedInstance&, const AssignedInstance&) = default;
};

// Write and read the annotation, in JSON. Members that the node's agent adds, and unknown members,
// are ignored. kCorrupt: the message names instance, member and expected form; also two instances
// for one device of a container.
std::string encode(const std::vector<AssignedInstance>& instances);
Result<std::vector<AssignedInstance>> decodeInstances(std::string_view text);

}  // namespace divvy::kube
