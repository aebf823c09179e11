// The sessions of viewers, and the links that open them. Pure: clock and random bytes are
// arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "console/viewer.h"

namespace divvy::console {

// A viewer's session. Only in memory: it ends with the process.
struct Session {
  std::string cookie;  // a secret
  std::string user;    // the person as changes name it
  std::string way_in;  // "one-time-link", "console-token", "api-token", "proxy-headers"
  std::string csrf;    // each request that changes something repeats it in a header
  std::int64_t began_ms = 0;
  Viewer viewer{};  // without a user: the session was opened by a link
  ViewerScope scope = wholeScope();
  std::int64_t reviewed_ms = 0;  // when token and scope were reviewed last
  std::int64_t tried_ms = 0;     // when a review began last, even if it failed
  std::uint64_t reviews = 0;     // that did not fail
  bool in_review = false;
  unsigned reports = 0;           // answers from the history that are in progress
  unsigned changes = 0;           // changes of the cluster that are in progress
  std::int64_t scope_ms = 0;      // when its scope was reviewed last
  std::set<std::string> refused;  // namespaces that it may not see, when they were asked about last
  // Of a viewer that a proxy names: when it did last, and when the streams were closed last.
  std::int64_t named_ms = 0;
  std::int64_t closed_ms = 0;

  // Returns whether a proxy names the viewer with each request: there is no token of it.
  bool isNamed() const { return !viewer.user.empty() && viewer.token.empty(); }
};

// Sessions by the value of their cookie, and one link at a time. A session ends after 12 h, or when
// it is the oldest of more than kMaxOfUser of its user, or of more than kMax. Not thread-safe.
class SessionStore {
 public:
  static constexpr std::size_t kMax = 256;
  static constexpr std::size_t kMaxOfUser = 16;
  static constexpr std::int64_t kLifeMs = 12LL * 3600 * 1000;

  using Held = std::shared_ptr<Session>;

  // Returns 32 random bytes.
  using Random = std::function<std::string()>;
  explicit SessionStore(Random random);

  // The token of the present link, 32 hexadecimal digits, so that it fits a
  // line of a terminal. It opens one session.
  const std::string& linkToken() const { return link_; }

  // Opens a session if `token` is that of the present link, and replaces the link. Null: a wrong or
  // used token.
  Held open(std::string_view token, const std::string& user, std::int64_t now_ms);
  // Opens a session of a viewer. Its token, if it has one, and scope were reviewed at `now_ms`.
  Held open(const Viewer& viewer, const ViewerScope& scope, std::int64_t now_ms);

  // Returns the session of a cookie's value; null: none, or it has ended.
  Held find(std::string_view cookie, std::int64_t now_ms);
  // Returns a session that was opened with this token of a viewer; null: none.
  Held findByToken(std::string_view token, std::int64_t now_ms);
  // Returns the session of a viewer without a token, with this user and these groups; null: none.
  Held findNamed(const Viewer& viewer, std::int64_t now_ms);

  void close(std::string_view cookie);
  std::size_t size() const { return sessions_.size(); }
  // Removes sessions that have ended.
  void removeEnded(std::int64_t now_ms);
  // Returns all sessions that last.
  std::vector<Held> all(std::int64_t now_ms);
  // Returns the scopes of all sessions.
  std::set<ViewerScope> scopes() const;

 private:
  using Sessions = std::map<std::string, Held, std::less<>>;

  std::string secret() const;
  Held add(Session session);
  // Removes the oldest session of `user`, or of all users, if there are `most` of them.
  void makeRoom(const std::string* user, std::size_t most);

  Random random_;
  std::string link_;
  Sessions sessions_;
};

// Compares in a time that depends on the lengths alone.
bool equalSecrets(std::string_view one, std::string_view two);

}  // namespace divvy::console
