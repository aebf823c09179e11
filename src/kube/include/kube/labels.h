// Values of labels and annotations.
#pragma once

#include <string>

#include "kube/object.h"

namespace divvy::kube {

// Returns the value of `key`, or null if it is absent or `key` is empty: descriptors leave out keys
// that a vendor does not have. The value lives as long as `all`.
inline const std::string* valueOf(const Labels& all, const std::string& key) {
  const auto found = key.empty() ? all.end() : all.find(key);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace divvy::kube
