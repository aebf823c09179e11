// Base64 of RFC 4648, section 4. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace divvy {

// White space in text that is decoded: blanks, tabs and line ends.
enum class Base64Space { kSkipped, kRefused };

std::string toBase64(std::string_view bytes);
// Returns nothing if `text` is not base64 with padding. Bits behind the last byte may be set.
std::optional<std::string> fromBase64(std::string_view text,
                                      Base64Space space = Base64Space::kSkipped);

}  // namespace divvy
