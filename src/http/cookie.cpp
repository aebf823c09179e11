#include "http/cookie.h"

#include <algorithm>

#include "tokens.h"

namespace divvy::http {
namespace {

// Browsers refuse a longer pair. Source: RFC 6265bis, 5.6.
constexpr std::size_t kMaxPair = 4096;

// `cookie-octet` of RFC 6265, 4.1.1.
bool isValueByte(char c) {
  return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool isPathByte(char c) {
  return c >= ' ' && c < 0x7f && c != ';';
}

}  // namespace

std::optional<std::string> cookieValue(std::string_view field, std::string_view name) {
  while (!field.empty()) {
    const std::string_view pair = takeUntil(&field, ';');
    const std::size_t equals = pair.find('=');
    if (equals != pair.npos && trimmed(pair.substr(0, equals)) == name)
      return std::string(trimmed(pair.substr(equals + 1)));
  }
  return std::nullopt;
}

Result<std::string> setCookie(const Cookie& cookie) {
  if (!isToken(cookie.name))
    return Error{ErrorCode::kUsage, "a cookie's name is not a token of RFC 9110"};
  if (!std::all_of(cookie.value.begin(), cookie.value.end(), isValueByte))
    return Error{ErrorCode::kUsage,
                 "the value of cookie " + cookie.name + " has a byte that cookies cannot have"};
  if (!cookie.path.starts_with('/') ||
      !std::all_of(cookie.path.begin(), cookie.path.end(), isPathByte))
    return Error{ErrorCode::kUsage, "the path of cookie " + cookie.name +
                                        " does not begin with a slash, or has a byte that cookies "
                                        "cannot have"};
  if (cookie.max_age && cookie.max_age->count() < 0)
    return Error{ErrorCode::kUsage, "cookie " + cookie.name + " has a negative Max-Age"};
  if (cookie.name.size() + cookie.value.size() > kMaxPair)
    return Error{ErrorCode::kUsage,
                 "cookie " + cookie.name + " has more than " + std::to_string(kMaxPair) + " bytes"};
  std::string field = cookie.name + '=' + cookie.value + "; Path=" + cookie.path;
  if (cookie.max_age) field += "; Max-Age=" + std::to_string(cookie.max_age->count());
  if (cookie.secure) field += "; Secure";
  field += "; HttpOnly; SameSite=";
  field += cookie.same_site == Cookie::SameSite::kStrict ? "Strict" : "Lax";
  return field;
}

}  // namespace divvy::http
