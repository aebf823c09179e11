// Numbers as Kubernetes writes them: "4", "250m", "3k", "16Gi", "1e3".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// An exact number. Source: k8s.io/apimachinery/pkg/api/resource, the grammar at Quantity. What is
// written is kept in mind as far as it says what was meant: "16Gi" are bytes, while "16k" is only
// how an API server writes 16000.
class Quantity {
 public:
  // Suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, e3 or E3; a sign, a fraction. kUsage: anything
  // else, more than 2^63-1, or a part finer than a thousand-millionth.
  static Result<Quantity> parse(std::string_view text);

  bool binary() const { return binary_; }
  bool negative() const { return nano_ < 0; }
  // None: it has a fraction.
  std::optional<std::int64_t> whole() const;
  // Rounded towards positive infinity; a quantity never exceeds 2^63-1.
  std::int64_t ceil() const;
  // Thousandths, rounded up; INT64_MAX where there are more.
  std::int64_t milli() const;

  friend bool operator==(const Quantity&, const Quantity&) = default;

 private:
  __int128 nano_ = 0;
  bool binary_ = false;
};

}  // namespace divvy
