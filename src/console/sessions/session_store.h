// The sessions of viewers, and the links that open them. Pure: clock and random bytes are
// arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace divvy::console {

// A viewer's session. Only in memory: it ends with the process.
struct Session {
  std::string user;    // the person as changes name it
  std::string way_in;  // "one-time-link"
  std::string csrf;    // each request that changes something repeats it in a header
  std::int64_t began_ms = 0;
};

// Sessions by the value of their cookie, and one link at a time. A session ends after 12 h, or when
// it is the oldest of more than kMax. Not thread-safe.
class SessionStore {
 public:
  static constexpr std::size_t kMax = 256;
  static constexpr std::int64_t kLifeMs = 12LL * 3600 * 1000;

  // Returns 32 random bytes.
  using Random = std::function<std::string()>;
  explicit SessionStore(Random random);

  // The token of the present link, 32 hexadecimal digits, so that it fits a
  // line of a terminal. It opens one session.
  const std::string& linkToken() const { return link_; }

  // Opens a session if `token` is that of the present link, and replaces the link. Returns the
  // cookie's value; nothing: a wrong or used token.
  std::optional<std::string> open(std::string_view token, const std::string& user,
                                  std::int64_t now_ms);

  // Returns the session of a cookie's value; null: none, or it has ended. Valid until the next
  // call.
  const Session* find(std::string_view cookie, std::int64_t now_ms);

  void close(std::string_view cookie);
  std::size_t size() const { return sessions_.size(); }

 private:
  std::string secret() const;

  Random random_;
  std::string link_;
  std::map<std::string, Session, std::less<>> sessions_;
};

// Compares in a time that depends on the lengths alone.
bool equalSecrets(std::string_view one, std::string_view two);

}  // namespace divvy::console
