// Base64 of RFC 4648, section 4. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace divvy {

// Treatment of white space (blanks, tabs, line ends) in text that is decoded.
enum class Base64Space { kSkipped, kRefused };

// Returns the bytes as base64 with padding and without white space.
std::string toBase64(std::string_view bytes);
// Returns the bytes of `text`. Returns nothing if it is not base64 with padding. Bits behind the
// last byte may be set.
std::optional<std::string> fromBase64(std::string_view text,
                                      Base64Space space = Base64Space::kSkipped);

}  // namespace divvy
