// Base64 of RFC 4648, section 4. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace divvy::kube {

std::string toBase64(std::string_view bytes);
// Skips white space. Returns nothing if the rest is not base64.
std::optional<std::string> fromBase64(std::string_view text);

}  // namespace divvy::kube
