// Which requests of browsers are served.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/answer.h"
#include "http/query.h"
#include "sessions/session_store.h"

namespace divvy::console {

// Checks the origin of requests and finds their sessions. Not thread-safe.
class RequestGuard {
 public:
  RequestGuard(SessionStore& sessions, std::uint16_t port, std::string base_path);

  // Sets the port that requests have to name. It is also part of the cookie's name: browsers share
  // cookies between the ports of a host.
  void setPort(std::uint16_t port);

  // Returns a refusal for a request of another site, or that names another host: a page elsewhere
  // may have made a browser send it (DNS rebinding). `changes`: the request has an effect, so its
  // origin has to be this page.
  std::optional<http::Answer> refuse(const http::Query& query, bool changes) const;

  // Returns the session, or a refusal (401).
  std::variant<const Session*, http::Answer> session(const http::Query& query) const;
  // The same for a request with an effect: its header X-Divvy-CSRF has to match (403).
  std::variant<const Session*, http::Answer> changingSession(const http::Query& query) const;

  // The field Set-Cookie of a new session; of one that is closed with an empty value.
  std::string setCookie(const std::string& value) const;
  std::string cookieOf(const http::Query& query) const;

 private:
  SessionStore& sessions_;
  std::uint16_t port_ = 0;
  std::string base_path_;
  std::string cookie_;
};

// Returns true for a Host or the host of an Origin that means this machine, with this port:
// "127.0.0.1:9400", "localhost:9400", "[::1]:9400".
bool isOwnHost(std::string_view host, std::uint16_t port);

// Milliseconds of a clock that never jumps.
std::int64_t steadyMs();

}  // namespace divvy::console
