// Text that names one kind of object, so that a node name is not a device name.
#pragma once

#include <compare>
#include <string>
#include <utility>

namespace divvy {

// `Kind` is a type, complete or not, that no other name uses. A value; comparable with its own kind
// only.
template <typename Kind>
struct Name {
  std::string text;

  Name() = default;
  explicit Name(std::string given) : text(std::move(given)) {}

  bool empty() const { return text.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;
};

}  // namespace divvy
