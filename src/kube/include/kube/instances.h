// Which instances (MIG) the containers of a pod were given, as an annotation says it. Source: facts
// on the incumbent's control plane, 2.2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

struct AssignedInstance {
  std::size_t container = 0;  // init containers first
  std::size_t device = 0;     // of the container's
  std::string uuid;           // of the card
  std::string profile;        // "2g.20gb"
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  friend bool operator==(const AssignedInstance&, const AssignedInstance&) = default;
};

// As JSON. What the node's agent adds to it, and members that are not known, are left. kCorrupt:
// which instance and member, what was expected; two of one place are that, too.
std::string encode(const std::vector<AssignedInstance>& instances);
Result<std::vector<AssignedInstance>> decodeInstances(std::string_view text);

}  // namespace divvy::kube
