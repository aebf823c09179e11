#include "api/viewer_login.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/pool_call.h"
#include "api/reply.h"
#include "api/request_guard.h"
#include "asio/rethrow.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxIntervals = 5;      // without an answer of the API server
constexpr std::int64_t kTriesOfInterval = 12;  // after a review that failed
constexpr std::chrono::seconds kViewBound{15};
constexpr std::chrono::seconds kReviewBound{40};
constexpr std::chrono::seconds kShortReviewBound{3};
// Each has views of its own.
constexpr std::size_t kMaxScopes = 64;

http::Answer refusedToken() {
  return errorAnswer(
      401, "unauthenticated",
      "the API server does not accept this token; make one with kubectl create token "
      "NAME --audience divvy-console");
}

// Of a viewer that a proxy names: the next request opens another session.
http::Answer endedSession() {
  return errorAnswer(401, "unauthenticated", "the session has ended; load the page again");
}

http::Answer unavailable(const std::string& message) {
  return errorAnswer(503, "unavailable", "the viewer cannot be reviewed: " + message);
}

// Of a review: no viewer: the token is not accepted. No scope: it was not asked about.
struct Reviewed {
  Result<Viewer> viewer;
  std::optional<Result<ViewerScope>> scope;
};

// `namespaces`: null: the token alone. A failure of any kind is one of the review.
Reviewed reviewNow(ViewerReviews& reviews, const std::string& token,
                   const std::vector<std::string>* namespaces) {
  try {
    Reviewed reviewed{reviews.authenticate(token), std::nullopt};
    if (reviewed.viewer && namespaces != nullptr)
      reviewed.scope = reviews.scopeOf(*reviewed.viewer, *namespaces);
    return reviewed;
  } catch (const std::exception&) {
    return {Error{ErrorCode::kUnavailable, "the review was cut short"}, std::nullopt};
  }
}

std::optional<Result<ViewerScope>> scopeNow(ViewerReviews& reviews, const Viewer& viewer,
                                            const std::vector<std::string>& namespaces) {
  try {
    return reviews.scopeOf(viewer, namespaces);
  } catch (const std::exception&) {
    return Result<ViewerScope>(Error{ErrorCode::kUnavailable, "the review was cut short"});
  }
}

bool isLimited(const ViewerScope& scope) {
  return !scope.pods.all || !scope.events.all;
}

// Keeps the namespaces that were refused, so that later reviews ask about them less often.
void keepRefused(const std::vector<std::string>& asked, Session& session) {
  for (const std::string& name : asked) {
    if (session.scope.pods.names.contains(name) || session.scope.events.names.contains(name))
      session.refused.erase(name);
    else
      session.refused.insert(name);
  }
}

}  // namespace

ViewerLogin::ViewerLogin(asio::any_io_executor executor, const Parts& parts, Effects effects)
    : executor_(std::move(executor)),
      sessions_(parts.sessions),
      reviews_(parts.reviews),
      interval_ms_(parts.interval.count()),
      effects_(std::move(effects)) {}

ViewerLogin::~ViewerLogin() {
  *ended_ = true;
  wake();
  pools_.reviews.join();
  pools_.logins.join();
}

asio::awaitable<void> ViewerLogin::wait(Clock::time_point until) {
  const auto timer = std::make_shared<asio::steady_timer>(executor_, until);
  waiting_.push_back(timer);
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void ViewerLogin::wake() {
  for (const auto& timer : std::exchange(waiting_, {})) timer->cancel();
}

SessionStore::Held ViewerLogin::twinOf(const Viewer& viewer) {
  for (const SessionStore::Held& session : sessions_.all(steadyMs())) {
    if (session->viewer.user == viewer.user && session->viewer.uid == viewer.uid &&
        session->viewer.api_token == viewer.api_token && session->viewer.groups == viewer.groups &&
        session->viewer.extra == viewer.extra && steadyMs() - session->scope_ms < interval_ms_)
      return session;
  }
  return nullptr;
}

std::optional<http::Answer> ViewerLogin::refuseBusy(const std::string& client) {
  if (sign_ins_.in_progress < kMaxLogins && of_address_.take(client, Clock::now()) &&
      of_all_.take(Clock::now()))
    return std::nullopt;
  return errorAnswer(503, "busy", "too many viewers sign in at once; try again in some seconds");
}

asio::awaitable<ViewerLogin::Opened> ViewerLogin::open(std::string token, std::string client) {
  const Ended ended = ended_;
  // A session without a token is of a viewer that a proxy names.
  if (token.empty()) co_return refusedToken();
  if (std::optional<http::Answer> busy = refuseBusy(client)) co_return std::move(*busy);
  const std::function<std::optional<Reviewed>()> ask = [this, &token] {
    return std::optional(reviewNow(reviews_, token, nullptr));
  };
  ++sign_ins_.in_progress;
  std::optional<Reviewed> reviewed = co_await onPool(pools_.logins, ask);
  if (*ended) co_return unavailable("the console ends");
  --sign_ins_.in_progress;
  if (!reviewed->viewer)
    co_return reviewed->viewer.error().code() == ErrorCode::kNotFound
        ? refusedToken()
        : unavailable(reviewed->viewer.error().message());
  Viewer viewer = *reviewed->viewer;
  viewer.token = token;
  co_return co_await begin(std::move(viewer));
}

asio::awaitable<ViewerLogin::Opened> ViewerLogin::openNamed(Viewer viewer) {
  const Ended ended = ended_;
  // A page sends many requests at once: one of them opens the session, the others wait for it.
  const std::pair key(viewer.user, viewer.groups);
  const Clock::time_point until = Clock::now() + kReviewBound;
  while (sign_ins_.named.contains(key)) {
    if (Clock::now() >= until) co_return unavailable("the API server does not answer");
    co_await wait(until);
    if (*ended) co_return unavailable("the console ends");
  }
  if (SessionStore::Held known = sessions_.findNamed(viewer, steadyMs())) co_return known;
  // All viewers come from the proxy's address.
  if (std::optional<http::Answer> busy = refuseBusy(viewer.user)) co_return std::move(*busy);
  sign_ins_.named.insert(key);
  Opened opened = co_await begin(std::move(viewer));
  if (*ended) co_return unavailable("the console ends");
  sign_ins_.named.erase(key);
  wake();
  co_return opened;
}

asio::awaitable<ViewerLogin::Opened> ViewerLogin::begin(Viewer viewer) {
  const Ended ended = ended_;
  SessionStore::Held session;
  if (const SessionStore::Held twin = twinOf(viewer); twin != nullptr) {
    session = sessions_.open(viewer, twin->scope, steadyMs());
    session->scope_ms = twin->scope_ms;
    session->refused = twin->refused;
  } else {
    const std::vector<std::string> namespaces = effects_.namespaces();
    const std::int64_t asked_ms = steadyMs();
    const std::function<std::optional<Result<ViewerScope>>()> rights =
        [this, &viewer, &namespaces] { return scopeNow(reviews_, viewer, namespaces); };
    ++sign_ins_.in_progress;
    const std::optional<Result<ViewerScope>> scope = co_await onPool(pools_.logins, rights);
    if (*ended) co_return unavailable("the console ends");
    --sign_ins_.in_progress;
    if (!*scope) co_return unavailable(scope->error().message());
    if (const std::set<ViewerScope> all = sessions_.scopes();
        all.size() >= kMaxScopes && !all.contains(**scope))
      co_return errorAnswer(503, "busy", "too many viewers with different rights have sessions");
    session = sessions_.open(viewer, **scope, steadyMs());
    session->scope_ms = asked_ms;
    keepRefused(namespaces, *session);
  }
  effects_.scopes_changed();
  const Clock::time_point until = Clock::now() + kViewBound;
  while (!effects_.has_view(session->scope)) {
    if (Clock::now() >= until) {
      sessions_.close(session->cookie);
      co_return errorAnswer(503, "unavailable", "the cluster has not been read yet; try again");
    }
    co_await wait(until);
    if (*ended) co_return unavailable("the console ends");
  }
  co_return session;
}

void ViewerLogin::finish(const SessionStore::Held& session, const Result<Viewer>& viewer,
                         const std::optional<Result<ViewerScope>>& scope,
                         const std::vector<std::string>& asked) {
  const bool refused = !viewer && viewer.error().code() == ErrorCode::kNotFound;
  // A name that was deleted and made again is another account.
  const bool another =
      viewer && (viewer->user != session->viewer.user || viewer->uid != session->viewer.uid);
  if (refused || another) {
    effects_.end(*session, "the token is no longer valid");
    return;
  }
  if (!viewer || (scope && !*scope)) return;
  session->reviewed_ms = steadyMs();
  ++session->reviews;
  if (!scope) return;
  session->scope_ms = session->tried_ms;
  const bool changed = **scope != session->scope;
  session->scope = **scope;
  keepRefused(asked, *session);
  if (!changed) return;
  effects_.drop_streams(*session);
  effects_.scopes_changed();
}

bool ViewerLogin::lacksNamespace(const Session& session) const {
  return isLimited(session.scope) && known_ms_ > session.scope_ms;
}

bool ViewerLogin::isTooOld(const Session& session) const {
  return steadyMs() - session.reviewed_ms >= kMaxIntervals * interval_ms_;
}

asio::awaitable<void> ViewerLogin::review(SessionStore::Held session) {
  const Ended ended = ended_;
  const bool named = session->isNamed();
  const bool rights =
      named || lacksNamespace(*session) || steadyMs() - session->scope_ms >= interval_ms_;
  const std::vector<std::string> namespaces =
      namespacesToReview(effects_.namespaces(), session->scope, session->refused, session->reviews);
  const std::function<std::optional<Reviewed>()> call = [this, &session, &namespaces, named,
                                                         rights] {
    if (named)
      return std::optional(
          Reviewed{session->viewer, scopeNow(reviews_, session->viewer, namespaces)});
    return std::optional(
        reviewNow(reviews_, session->viewer.token, rights ? &namespaces : nullptr));
  };
  const std::optional<Reviewed> reviewed = co_await onPool(pools_.reviews, call);
  session->in_review = false;
  if (*ended) co_return;
  finish(session, reviewed->viewer, reviewed->scope, namespaces);
  wake();
}

void ViewerLogin::startReview(const SessionStore::Held& session) {
  session->in_review = true;
  session->tried_ms = steadyMs();
  asio::co_spawn(executor_, review(session), rethrow);
}

asio::awaitable<std::optional<http::Answer>> ViewerLogin::refresh(SessionStore::Held session) {
  const Ended ended = ended_;
  const bool stale = steadyMs() - session->reviewed_ms >= interval_ms_;
  if (!stale && !lacksNamespace(*session) && effects_.has_view(session->scope))
    co_return std::nullopt;
  const bool due = steadyMs() - session->tried_ms >= interval_ms_ / kTriesOfInterval;
  if (due && !session->in_review) startReview(session);
  // A session that was reviewed lately goes on while the API server is slow.
  const Clock::time_point until =
      Clock::now() + (isTooOld(*session) ? kReviewBound : kShortReviewBound);
  while (!*ended && Clock::now() < until && session->in_review) co_await wait(until);
  while (!*ended && Clock::now() < until && !effects_.has_view(session->scope))
    co_await wait(until);
  if (*ended) co_return unavailable("the console ends");
  if (sessions_.find(session->cookie, steadyMs()) == nullptr)
    co_return session->isNamed() ? endedSession() : refusedToken();
  if (isTooOld(*session)) co_return unavailable("the API server does not answer");
  if (!effects_.has_view(session->scope))
    co_return errorAnswer(503, "unavailable", "the cluster has not been read yet; try again");
  co_return std::nullopt;
}

void ViewerLogin::closeNamed(const SessionStore::Held& session) {
  const std::int64_t now_ms = steadyMs();
  if (now_ms - session->closed_ms < kMaxIntervals * interval_ms_) return;
  effects_.drop_streams(*session);
  if (session->named_ms <= session->closed_ms) sessions_.close(session->cookie);
  session->closed_ms = now_ms;
}

void ViewerLogin::published() {
  std::vector<std::string> known = effects_.namespaces();
  if (!std::includes(known_.begin(), known_.end(), known.begin(), known.end()))
    known_ms_ = steadyMs();
  known_ = std::move(known);
  wake();
  for (const SessionStore::Held& session : sessions_.all(steadyMs())) {
    if (session->isNamed()) closeNamed(session);
    if (!effects_.has_stream(*session)) continue;
    // What it may not see any more would go on.
    if (isTooOld(*session)) effects_.drop_streams(*session);
    const std::int64_t step = lacksNamespace(*session) ? interval_ms_ / kTriesOfInterval
                              : session->isNamed()     ? interval_ms_
                                                       : interval_ms_ / 2;
    if (!session->in_review && steadyMs() - session->tried_ms >= step) startReview(session);
  }
}

}  // namespace divvy::console
