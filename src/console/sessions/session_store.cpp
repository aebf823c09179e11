#include "sessions/session_store.h"

#include <algorithm>
#include <utility>

namespace divvy::console {
namespace {

std::string wayOf(const Viewer& viewer) {
  if (viewer.token.empty()) return "proxy-headers";
  return viewer.api_token ? "api-token" : "console-token";
}

constexpr std::size_t kLinkDigits = 32;

bool lasts(const Session& session, std::int64_t now_ms) {
  return now_ms >= session.began_ms && now_ms - session.began_ms < SessionStore::kLifeMs;
}

}  // namespace

bool equalSecrets(std::string_view one, std::string_view two) {
  if (one.size() != two.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(two[i]);
  return difference == 0;
}

SessionStore::SessionStore(Random random)
    : random_(std::move(random)), link_(secret().substr(0, kLinkDigits)) {}

std::string SessionStore::secret() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : random_()) {
    text += digits[static_cast<unsigned char>(byte) >> 4U];
    text += digits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

void SessionStore::makeRoom(const std::string* user, std::size_t most) {
  std::size_t count = 0;
  auto oldest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (user != nullptr && at->second->user != *user) continue;
    ++count;
    if (oldest == sessions_.end() || at->second->began_ms < oldest->second->began_ms) oldest = at;
  }
  if (count >= most) sessions_.erase(oldest);
}

SessionStore::Held SessionStore::add(Session session) {
  makeRoom(nullptr, kMax);
  session.cookie = secret();
  session.csrf = secret();
  auto held = std::make_shared<Session>(std::move(session));
  sessions_[held->cookie] = held;
  return held;
}

SessionStore::Held SessionStore::open(std::string_view token, const std::string& user,
                                      std::int64_t now_ms) {
  if (!equalSecrets(token, link_)) return nullptr;
  link_ = secret().substr(0, kLinkDigits);
  Session session;
  session.user = user;
  session.way_in = "one-time-link";
  session.began_ms = now_ms;
  return add(std::move(session));
}

SessionStore::Held SessionStore::open(const Viewer& viewer, const ViewerScope& scope,
                                      std::int64_t now_ms) {
  makeRoom(&viewer.user, kMaxOfUser);
  Session session;
  session.user = viewer.user;
  session.way_in = wayOf(viewer);
  session.began_ms = session.reviewed_ms = session.tried_ms = session.scope_ms = now_ms;
  session.named_ms = session.closed_ms = now_ms;
  session.viewer = viewer;
  session.scope = scope;
  return add(std::move(session));
}

SessionStore::Held SessionStore::find(std::string_view cookie, std::int64_t now_ms) {
  const auto at = sessions_.find(cookie);
  if (at == sessions_.end()) return nullptr;
  if (lasts(*at->second, now_ms)) return at->second;
  sessions_.erase(at);
  return nullptr;
}

SessionStore::Held SessionStore::findByToken(std::string_view token, std::int64_t now_ms) {
  if (token.empty()) return nullptr;
  for (const auto& [cookie, session] : sessions_)
    if (lasts(*session, now_ms) && equalSecrets(session->viewer.token, token)) return session;
  return nullptr;
}

SessionStore::Held SessionStore::findNamed(const Viewer& viewer, std::int64_t now_ms) {
  for (const auto& [cookie, session] : sessions_)
    if (lasts(*session, now_ms) && session->isNamed() && session->viewer.user == viewer.user &&
        session->viewer.groups == viewer.groups)
      return session;
  return nullptr;
}

void SessionStore::close(std::string_view cookie) {
  const auto at = sessions_.find(cookie);
  if (at != sessions_.end()) sessions_.erase(at);
}

void SessionStore::removeEnded(std::int64_t now_ms) {
  std::erase_if(sessions_, [&](const auto& entry) { return !lasts(*entry.second, now_ms); });
}

std::vector<SessionStore::Held> SessionStore::all(std::int64_t now_ms) {
  std::vector<Held> held;
  for (const auto& [cookie, session] : sessions_)
    if (lasts(*session, now_ms)) held.push_back(session);
  return held;
}

std::set<ViewerScope> SessionStore::scopes() const {
  std::set<ViewerScope> scopes;
  for (const auto& [cookie, session] : sessions_) scopes.insert(session->scope);
  return scopes;
}

}  // namespace divvy::console
