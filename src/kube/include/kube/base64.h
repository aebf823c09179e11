// RFC 4648, section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace divvy::kube {

std::string toBase64(std::string_view bytes);
// White space between is skipped. None: anything else that is not base64.
std::optional<std::string> fromBase64(std::string_view text);

}  // namespace divvy::kube
