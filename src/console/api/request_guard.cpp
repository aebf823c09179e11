#include "api/request_guard.h"

#include <algorithm>
#include <chrono>

#include "api/reply.h"
#include "http/cookie.h"

namespace divvy::console {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

// A browser says where the request comes from; programs that are no browsers do not.
bool isForeign(std::string_view site) {
  return !site.empty() && site != "same-origin" && site != "none";
}

}  // namespace

std::int64_t steadyMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool isOwnHost(std::string_view host, std::uint16_t port) {
  const std::string end = ":" + std::to_string(port);
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == std::string(name) + end || (port == 80 && host == name)) return true;
  }
  return false;
}

RequestGuard::RequestGuard(SessionStore& sessions, GuardOptions options)
    : sessions_(sessions), options_(std::move(options)) {
  setPort(options_.port);
}

void RequestGuard::setPort(std::uint16_t port) {
  options_.port = port;
  cookie_ = "divvy_session_" + std::to_string(port);
}

// A proxy may have ended TLS, so with `any_host` both schemes are accepted.
bool RequestGuard::isOwnOrigin(const http::Query& query, std::string_view origin) const {
  if (options_.any_host) {
    const std::string_view host = query.header("Host");
    return origin == std::string(kHttp) + std::string(host) ||
           origin == std::string(kHttps) + std::string(host);
  }
  return origin.starts_with(kHttp) && isOwnHost(origin.substr(kHttp.size()), options_.port);
}

std::optional<http::Answer> RequestGuard::refuse(const http::Query& query, bool changes) const {
  const auto hosts =
      std::count_if(query.fields.all().begin(), query.fields.all().end(),
                    [](const http::Field& field) { return http::equalNames(field.name, "Host"); });
  if (hosts != 1 || (!options_.any_host && !isOwnHost(query.header("Host"), options_.port)))
    return errorAnswer(403, "forbidden",
                       "the request names another host; open the console as http://127.0.0.1:" +
                           std::to_string(options_.port) + options_.base_path);
  const std::string_view origin = query.header("Origin");
  if ((!origin.empty() && !isOwnOrigin(query, origin)) ||
      (changes && isForeign(query.header("Sec-Fetch-Site"))))
    return errorAnswer(403, "forbidden", "the request comes from a page of another site");
  return std::nullopt;
}

std::string RequestGuard::cookieOf(const http::Query& query) const {
  return query.cookie(cookie_).value_or("");
}

http::Answer RequestGuard::unauthenticated() const {
  return errorAnswer(401, "unauthenticated",
                     options_.any_host
                         ? "there is no session; sign in with a token of the cluster"
                         : "there is no session; open the link that divvy console printed last");
}

RequestGuard::Admitted RequestGuard::session(const http::Query& query) const {
  if (std::optional<http::Answer> refused = refuse(query, false)) return std::move(*refused);
  SessionStore::Held session = sessions_.find(cookieOf(query), steadyMs());
  if (session == nullptr) return unauthenticated();
  return session;
}

std::optional<http::Answer> RequestGuard::refuseCsrf(const http::Query& query,
                                                     const Session& session) const {
  if (equalSecrets(query.header("X-Divvy-CSRF"), session.csrf)) return std::nullopt;
  return errorAnswer(403, "forbidden",
                     "header X-Divvy-CSRF does not have the session's value; load the page again");
}

RequestGuard::Admitted RequestGuard::changingSession(const http::Query& query) const {
  if (std::optional<http::Answer> refused = refuse(query, true)) return std::move(*refused);
  Admitted found = session(query);
  const auto* held = std::get_if<SessionStore::Held>(&found);
  if (held == nullptr) return found;
  if (std::optional<http::Answer> refused = refuseCsrf(query, **held)) return std::move(*refused);
  return found;
}

// Not every browser keeps secure cookies of a loopback address without TLS.
bool RequestGuard::needsTls(const http::Query& query) const {
  const std::string_view host = query.header("Host");
  const std::string_view name = host.substr(0, host.rfind(':'));
  return options_.any_host && name != "localhost" && name != "127.0.0.1" && name != "[::1]";
}

bool RequestGuard::losesCookie(const http::Query& query) const {
  return needsTls(query) && query.header("Origin").starts_with(kHttp);
}

std::string RequestGuard::setCookie(const http::Query& query, const std::string& value) const {
  http::Cookie cookie;
  cookie.name = cookie_;
  cookie.value = value;
  cookie.path = options_.base_path;
  // Behind a proxy the browser's connection has TLS though this one has not.
  cookie.secure = query.tls || needsTls(query);
  if (value.empty()) cookie.max_age = std::chrono::seconds(0);
  const Result<std::string> text = http::setCookie(cookie);
  return text ? *text : std::string();
}

}  // namespace divvy::console
