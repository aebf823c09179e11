// Cookies: reading the field Cookie, writing the field Set-Cookie. Source: RFC 6265.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::http {

// Returns the value of the first cookie of that name in a field Cookie, as it was sent: quotes and
// escapes are kept. Names are compared byte by byte. Pairs without `=` are left out.
std::optional<std::string> cookieValue(std::string_view field, std::string_view name);

// A cookie that scripts cannot read: it is always HttpOnly.
struct Cookie {
  enum class SameSite : std::uint8_t { kStrict, kLax };

  std::string name;
  std::string value;
  std::string path = "/";
  // Time to live. Absent: until the browser ends. 0: the browser deletes the cookie.
  std::optional<std::chrono::seconds> max_age{};
  bool secure = true;  // false only for a server without TLS
  SameSite same_site = SameSite::kStrict;
};

// Returns the value of a field Set-Cookie. Errors: kUsage for a name, a value or a path with bytes
// that RFC 6265 does not accept, and for a negative time.
Result<std::string> setCookie(const Cookie& cookie);

}  // namespace divvy::http
