// The descriptors as texts; made by embed.cmake.
#pragma once

#include <vector>

namespace divvy::vendors {

struct BuiltInText {
  const char* source;  // "vendors/nvidia/vendor.yaml"
  const char* yaml;
};
const std::vector<BuiltInText>& builtInTexts();

}  // namespace divvy::vendors
