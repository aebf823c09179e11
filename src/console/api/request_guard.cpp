#include "api/request_guard.h"

#include <algorithm>
#include <chrono>

#include "api/reply.h"
#include "http/cookie.h"

namespace divvy::console {
namespace {

constexpr std::string_view kHttp = "http://";

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

RequestGuard::RequestGuard(SessionStore& sessions, std::uint16_t port, std::string base_path)
    : sessions_(sessions), base_path_(std::move(base_path)) {
  setPort(port);
}

void RequestGuard::setPort(std::uint16_t port) {
  port_ = port;
  cookie_ = "divvy_session_" + std::to_string(port);
}

std::optional<http::Answer> RequestGuard::refuse(const http::Query& query, bool changes) const {
  const auto hosts =
      std::count_if(query.fields.all().begin(), query.fields.all().end(),
                    [](const http::Field& field) { return http::equalNames(field.name, "Host"); });
  if (hosts != 1 || !isOwnHost(query.header("Host"), port_))
    return errorAnswer(403, "forbidden",
                       "the request names another host; open the console as http://127.0.0.1:" +
                           std::to_string(port_) + base_path_);
  const std::string_view origin = query.header("Origin");
  const bool own = origin.starts_with(kHttp) && isOwnHost(origin.substr(kHttp.size()), port_);
  if ((!origin.empty() && !own) || (changes && isForeign(query.header("Sec-Fetch-Site"))))
    return errorAnswer(403, "forbidden", "the request comes from a page of another site");
  return std::nullopt;
}

std::string RequestGuard::cookieOf(const http::Query& query) const {
  return query.cookie(cookie_).value_or("");
}

std::variant<const Session*, http::Answer> RequestGuard::session(const http::Query& query) const {
  if (std::optional<http::Answer> refused = refuse(query, false)) return std::move(*refused);
  const Session* session = sessions_.find(cookieOf(query), steadyMs());
  if (session != nullptr) return session;
  return errorAnswer(401, "unauthenticated",
                     "there is no session; open the link that divvy console printed last");
}

std::variant<const Session*, http::Answer> RequestGuard::changingSession(
    const http::Query& query) const {
  if (std::optional<http::Answer> refused = refuse(query, true)) return std::move(*refused);
  std::variant<const Session*, http::Answer> found = session(query);
  const auto* session = std::get_if<const Session*>(&found);
  if (session == nullptr || equalSecrets(query.header("X-Divvy-CSRF"), (*session)->csrf))
    return found;
  return errorAnswer(403, "forbidden",
                     "header X-Divvy-CSRF does not have the session's value; load the page again");
}

std::string RequestGuard::setCookie(const std::string& value) const {
  http::Cookie cookie;
  cookie.name = cookie_;
  cookie.value = value;
  cookie.path = base_path_;
  cookie.secure = false;  // loopback without TLS
  if (value.empty()) cookie.max_age = std::chrono::seconds(0);
  const Result<std::string> text = http::setCookie(cookie);
  return text ? *text : std::string();
}

}  // namespace divvy::console
