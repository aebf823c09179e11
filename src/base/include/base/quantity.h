// Numbers as Kubernetes writes them: "4", "250m", "3k", "16Gi", "1e3". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// An exact number, at most 2^63-1, in steps of 1e-9. It also keeps whether the suffix was binary:
// "16Gi" states bytes, while "16k" is only an API server's form of 16000.
// Source: k8s.io/apimachinery/pkg/api/resource, the grammar at Quantity.
class Quantity {
 public:
  // Parses a number with an optional sign, fraction and suffix. Suffixes: n u m k M G T P E, Ki Mi
  // Gi Ti Pi Ei, or an exponent (e3, E3). kUsage: any other text, a number above 2^63-1, or a part
  // below 1e-9; the message names the accepted forms.
  static Result<Quantity> parse(std::string_view text);

  // Returns whether the suffix was binary.
  bool binary() const { return binary_; }
  bool negative() const { return nano_ < 0; }
  // Returns the number; nothing if it has a fraction.
  std::optional<std::int64_t> whole() const;
  // Returns the number, rounded towards positive infinity.
  std::int64_t ceil() const;
  // Returns thousandths, rounded towards positive infinity and limited to the range of int64_t.
  std::int64_t milli() const;

  friend bool operator==(const Quantity&, const Quantity&) = default;

 private:
  __int128 nano_ = 0;
  bool binary_ = false;
};

}  // namespace divvy
