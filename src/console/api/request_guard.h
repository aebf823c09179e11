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

// The requests that a console serves.
struct GuardOptions {
  std::uint16_t port = 0;
  std::string base_path = "/";
  // Sessions are opened by viewers' tokens, under any name of this machine or of a proxy. If not,
  // they are opened by a link, under this machine's loopback names only.
  bool any_host = false;
};

// Checks the origin of requests and finds their sessions. Not thread-safe.
class RequestGuard {
 public:
  // A request is answered with the session, or with a refusal.
  using Admitted = std::variant<SessionStore::Held, http::Answer>;

  RequestGuard(SessionStore& sessions, GuardOptions options);

  // Sets the port that requests have to name. It is also part of the cookie's name: browsers share
  // cookies between the ports of a host.
  void setPort(std::uint16_t port);

  // Returns a refusal for a request of another site, or that names another host: a page elsewhere
  // may have made a browser send it (DNS rebinding). With `any_host` a name protects nothing, but
  // the cookie is of one name only. `changes`: the request has an effect, so its origin has to be
  // this page.
  std::optional<http::Answer> refuse(const http::Query& query, bool changes) const;

  // Returns the session of the cookie, or a refusal (401).
  Admitted session(const http::Query& query) const;
  // The same for a request with an effect: its header X-Divvy-CSRF has to match (403).
  Admitted changingSession(const http::Query& query) const;
  // Returns a refusal (403) if the header does not match.
  std::optional<http::Answer> refuseCsrf(const http::Query& query, const Session& session) const;
  // The refusal of a request without a session.
  http::Answer unauthenticated() const;

  // The field Set-Cookie of a new session; of one that is closed with an empty value. `query`: the
  // request that it answers.
  std::string setCookie(const http::Query& query, const std::string& value) const;
  std::string cookieOf(const http::Query& query) const;
  // Returns whether the request's page has no TLS, so that its browser would drop the cookie.
  bool losesCookie(const http::Query& query) const;

 private:
  bool needsTls(const http::Query& query) const;
  bool isOwnOrigin(const http::Query& query, std::string_view origin) const;

  SessionStore& sessions_;
  GuardOptions options_;
  std::string cookie_;
};

// Returns true for a Host or the host of an Origin that means this machine, with this port:
// "127.0.0.1:9400", "localhost:9400", "[::1]:9400".
bool isOwnHost(std::string_view host, std::uint16_t port);

// Milliseconds of a clock that never jumps.
std::int64_t steadyMs();

}  // namespace divvy::console
