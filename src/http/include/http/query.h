// A client's request, as a handler gets it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/parameters.h"

namespace divvy::http {

// A value type. Header and target together have at most 16 KiB; the body has at most the bytes that
// its route accepts. Everything but `peer`, `client` and `tls` comes from the client and is not
// trusted.
struct Query {
  std::string target;        // path and query string
  std::string content_type;  // as the client sent it
  std::string body;
  std::string method{};     // "GET"; "HEAD" where a route of GET answers
  std::string path{};       // of the target, without the query string, not decoded
  Parameters captures{};    // what the route's path captured, decoded
  Parameters parameters{};  // of the query string; empty without Listen::parse_parameters
  Fields fields{};          // the header, with Content-Type and Cookie
  std::string peer{};       // IP address of the client's end of the connection, without a port
  std::string client{};     // `peer`, or the client of a proxy in Listen::proxies
  bool tls = false;         // true if the connection has TLS

  // Returns the first value of that header field, or an empty text.
  std::string_view header(std::string_view name) const;
  // Returns the value of the first cookie of that name. See cookieValue().
  std::optional<std::string> cookie(std::string_view name) const;
  // Returns what `{name}` or `{name...}` of the route's path captured, or an empty text.
  std::string_view capture(std::string_view name) const;
  // Returns the first parameter of that name in the query string, or null.
  const std::string* parameter(std::string_view name) const;
};

}  // namespace divvy::http
