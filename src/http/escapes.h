// Percent-encoding of URLs. Source: RFC 3986, 2.1. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::http {

enum class Plus : std::uint8_t { kItself, kSpace };

// Returns the bytes that the text stands for. Errors: kUsage for a `%` without two hexadecimal
// digits after it, and for `%00`.
Result<std::string> decodeEscapes(std::string_view text, Plus plus);

}  // namespace divvy::http
