// Which session a request has.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/request_guard.h"
#include "api/viewer_login.h"
#include "http/query.h"

namespace divvy::console {

// Finds the session of a request: by its cookie or, where viewers sign in with tokens, by the field
// Authorization (of a script, or of a proxy that has signed the viewer in). Used on the server's
// thread only.
class Admission {
 public:
  using Admitted = RequestGuard::Admitted;

  // Both outlive it. `login`: null: sessions are opened by a link.
  Admission(const RequestGuard& guard, SessionStore& sessions, ViewerLogin* login)
      : guard_(guard), sessions_(sessions), login_(login) {}

  // Returns the session, or a refusal: 401, 403 or 503. `query` lasts until then.
  boost::asio::awaitable<Admitted> read(const http::Query& query) const;
  // The same for a request with an effect: X-Divvy-CSRF has to match. A script's request with
  // Authorization needs none: no browser sends it for another site's page.
  boost::asio::awaitable<Admitted> change(const http::Query& query) const;

 private:
  boost::asio::awaitable<Admitted> byToken(const http::Query& query, std::string token) const;

  const RequestGuard& guard_;
  SessionStore& sessions_;
  ViewerLogin* login_;
};

}  // namespace divvy::console
