// Opens sessions for viewers with tokens of the API server, or with names of a proxy, and reviews
// them again while they last.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/rate_limit.h"
#include "base/token_bucket.h"
#include "console/viewer.h"
#include "http/answer.h"
#include "sessions/session_store.h"

namespace divvy::console {

// Used on the server's thread only; reviews run on threads of its own. A session that is used after
// an interval without a review is reviewed first. A session with a stream is reviewed twice in an
// interval: its token each time, its scope every second time. A token that is not accepted ends its
// session. While the API server does not answer, sessions go on for five intervals.
//
// Of a viewer that a proxy names only the scope is reviewed, once in an interval. Its streams are
// closed each five intervals: when its page opens them again, the proxy decides anew. Its session
// ends then if no request has named it since the last time.
class ViewerLogin {
 public:
  // Bounds on sign-ins, because each one asks the API server: those in progress, those of an
  // address, and all.
  static constexpr unsigned kMaxLogins = 64;
  static constexpr Rate kOfAddress{2, 20};
  static constexpr Rate kOfAll{20, 100};

  using Opened = std::variant<SessionStore::Held, http::Answer>;

  // Effects on streams and views.
  struct Effects {
    // The scopes of the sessions have changed.
    std::function<void()> scopes_changed;
    // Returns whether the scope has a view.
    std::function<bool(const ViewerScope&)> has_view;
    std::function<bool(const Session&)> has_stream;
    std::function<void(const Session&, const char* reason)> end;  // session and streams
    std::function<void(const Session&)> drop_streams;
    std::function<std::vector<std::string>()> namespaces;
  };
  struct Parts {
    SessionStore& sessions;
    ViewerReviews& reviews;
    std::chrono::milliseconds interval;
  };

  ViewerLogin(boost::asio::any_io_executor executor, const Parts& parts, Effects effects);
  // Waits for reviews in progress.
  ~ViewerLogin();
  ViewerLogin(const ViewerLogin&) = delete;
  ViewerLogin& operator=(const ViewerLogin&) = delete;

  // Opens a session, and waits until its scope has a view. Answers: 401 the token is not accepted;
  // 503 too many sign-ins, or the API server does not answer. `client`: the client's address.
  boost::asio::awaitable<Opened> open(std::string token, std::string client);

  // Returns the session of a viewer that a proxy names, or opens one as above. Answers: 503.
  boost::asio::awaitable<Opened> openNamed(Viewer viewer);

  // Reviews a session that is due. Returns a refusal if it has ended (401), or if its last review
  // is too old (503).
  boost::asio::awaitable<std::optional<http::Answer>> refresh(SessionStore::Held session);

  // To be called when new views were published. Reviews sessions that have streams.
  void published();

 private:
  using Ended = std::shared_ptr<bool>;

  // Returns a refusal if there are too many sign-ins. `client`: that the limits count for.
  std::optional<http::Answer> refuseBusy(const std::string& client);
  // Opens a session of a viewer that is known.
  boost::asio::awaitable<Opened> begin(Viewer viewer);
  // Closes streams of a viewer that a proxy names, if it is time.
  void closeNamed(const SessionStore::Held& session);
  boost::asio::awaitable<void> review(SessionStore::Held session);
  void startReview(const SessionStore::Held& session);
  // Returns whether a namespace has appeared since the session's scope was reviewed.
  bool lacksNamespace(const Session& session) const;
  // Returns a session of the same account with a scope reviewed within an interval; null: none.
  SessionStore::Held twinOf(const Viewer& viewer);
  bool isTooOld(const Session& session) const;
  // Returns at the next wake(), or at `until`.
  boost::asio::awaitable<void> wait(std::chrono::steady_clock::time_point until);
  void wake();
  void finish(const SessionStore::Held& session, const Result<Viewer>& viewer,
              const std::optional<Result<ViewerScope>>& scope,
              const std::vector<std::string>& asked);

  boost::asio::any_io_executor executor_;
  SessionStore& sessions_;
  ViewerReviews& reviews_;
  const std::int64_t interval_ms_;
  Effects effects_;
  RateLimit of_address_{kOfAddress};
  TokenBucket of_all_{kOfAll};
  struct SignIns {
    unsigned in_progress = 0;
    // Of viewers that a proxy names: user and groups.
    std::set<std::pair<std::string, std::vector<std::string>>> named;
  } sign_ins_;
  std::vector<std::string> known_;  // namespaces
  std::int64_t known_ms_ = 0;       // when one of them appeared last
  std::list<std::shared_ptr<boost::asio::steady_timer>> waiting_;
  Ended ended_ = std::make_shared<bool>(false);
  // Sessions do not wait for viewers that sign in.
  struct Pools {
    boost::asio::thread_pool reviews{4}, logins{2};
  } pools_;
};

}  // namespace divvy::console
