#include "sessions/session_store.h"

#include <algorithm>
#include <array>

namespace divvy::console {

bool equalSecrets(std::string_view one, std::string_view two) {
  if (one.size() != two.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(two[i]);
  return difference == 0;
}

namespace {

constexpr std::size_t kLinkDigits = 32;

}  // namespace

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

std::optional<std::string> SessionStore::open(std::string_view token, const std::string& user,
                                              std::int64_t now_ms) {
  if (!equalSecrets(token, link_)) return std::nullopt;
  link_ = secret().substr(0, kLinkDigits);
  if (sessions_.size() >= kMax) {
    const auto oldest = std::min_element(
        sessions_.begin(), sessions_.end(),
        [](const auto& a, const auto& b) { return a.second.began_ms < b.second.began_ms; });
    sessions_.erase(oldest);
  }
  std::string cookie = secret();
  sessions_[cookie] = {user, "one-time-link", secret(), now_ms};
  return cookie;
}

const Session* SessionStore::find(std::string_view cookie, std::int64_t now_ms) {
  const auto at = sessions_.find(cookie);
  if (at == sessions_.end()) return nullptr;
  if (now_ms - at->second.began_ms < kLifeMs && now_ms >= at->second.began_ms) return &at->second;
  sessions_.erase(at);
  return nullptr;
}

void SessionStore::close(std::string_view cookie) {
  const auto at = sessions_.find(cookie);
  if (at != sessions_.end()) sessions_.erase(at);
}

}  // namespace divvy::console
