// Text that names one kind of thing: a node's name is not a device's.
#pragma once

#include <compare>
#include <string>
#include <utility>

namespace divvy {

// `Kind` is any type, complete or not, that no other name uses.
template <typename Kind>
struct Name {
  std::string text;

  Name() = default;
  explicit Name(std::string given) : text(std::move(given)) {}

  bool empty() const { return text.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;
};

}  // namespace divvy
