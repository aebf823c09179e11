#include "api/admission.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/proxy_viewer.h"
#include "api/reply.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;

// The token of "Authorization: Bearer TOKEN"; empty: none. Source: RFC 6750, section 2.1.
std::string bearerOf(const http::Query& query) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view field = query.header("Authorization");
  if (field.size() <= scheme.size() || !http::equalNames(field.substr(0, scheme.size()), scheme))
    return {};
  return std::string(field.substr(scheme.size()));
}

// Browsers send at least one of both with requests that have an effect.
bool isOfBrowser(const http::Query& query) {
  return !query.header("Origin").empty() || !query.header("Sec-Fetch-Site").empty();
}

}  // namespace

asio::awaitable<Admission::Admitted> Admission::byToken(const http::Query& query,
                                                        std::string token) const {
  const SessionStore::Held known = sessions_.findByToken(token, steadyMs());
  if (known != nullptr) co_return known;
  ViewerLogin::Opened opened = co_await login_->open(std::move(token), query.client);
  co_return opened;
}

asio::awaitable<Admission::Admitted> Admission::byName(const http::Query& query) const {
  Result<Viewer> viewer = viewerNamedBy(naming_, query);
  if (!viewer) co_return errorAnswer(401, "unauthenticated", viewer.error().message());
  ViewerLogin::Opened opened = co_await login_->openNamed(std::move(*viewer));
  if (const auto* held = std::get_if<SessionStore::Held>(&opened)) (*held)->named_ms = steadyMs();
  co_return opened;
}

asio::awaitable<Admission::Admitted> Admission::find(const http::Query& query) const {
  if (isNaming()) co_return co_await byName(query);
  std::string token = login_ == nullptr ? std::string() : bearerOf(query);
  // A proxy may have signed another viewer in since the cookie was set.
  if (!token.empty()) co_return co_await byToken(query, std::move(token));
  co_return guard_.session(query);
}

asio::awaitable<Admission::Admitted> Admission::read(const http::Query& query) const {
  if (std::optional<http::Answer> refused = guard_.refuse(query, false))
    co_return std::move(*refused);
  Admitted found = co_await find(query);
  const SessionStore::Held* held = std::get_if<SessionStore::Held>(&found);
  if (held == nullptr || login_ == nullptr) co_return found;
  std::optional<http::Answer> refused = co_await login_->refresh(*held);
  if (refused) co_return std::move(*refused);
  co_return found;
}

asio::awaitable<Admission::Admitted> Admission::change(const http::Query& query) const {
  if (std::optional<http::Answer> refused = guard_.refuse(query, true))
    co_return std::move(*refused);
  Admitted found = co_await read(query);
  const SessionStore::Held* held = std::get_if<SessionStore::Held>(&found);
  if (held == nullptr) co_return found;
  const bool of_script =
      login_ != nullptr && !isNaming() && !bearerOf(query).empty() && !isOfBrowser(query);
  if (of_script) co_return found;
  if (std::optional<http::Answer> refused = guard_.refuseCsrf(query, **held))
    co_return std::move(*refused);
  co_return found;
}

}  // namespace divvy::console
