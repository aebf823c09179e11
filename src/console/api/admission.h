// Which session a request has.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/request_guard.h"
#include "api/viewer_login.h"
#include "http/query.h"
#include "http/trusted_proxies.h"

namespace divvy::console {

// Finds the session of a request: by its cookie or, where viewers sign in with tokens, by the field
// Authorization (of a script, or of a proxy that has signed the viewer in). Where proxies name the
// viewers, by these names alone: no cookie and no token counts. Used on the server's thread only.
class Admission {
 public:
  using Admitted = RequestGuard::Admitted;

  // All outlive it. `login`: null: sessions are opened by a link. `naming`: proxies that name the
  // viewers; empty: none.
  Admission(const RequestGuard& guard, SessionStore& sessions, ViewerLogin* login,
            const http::TrustedProxies& naming)
      : guard_(guard), sessions_(sessions), login_(login), naming_(naming) {}

  // Returns the session, or a refusal: 401, 403 or 503. `query` lasts until then.
  boost::asio::awaitable<Admitted> read(const http::Query& query) const;
  // The same for a request with an effect: X-Divvy-CSRF has to match. A script's request with
  // Authorization needs none: no browser sends it for another site's page. A proxy's names are in
  // such requests, too.
  boost::asio::awaitable<Admitted> change(const http::Query& query) const;

 private:
  bool isNaming() const { return login_ != nullptr && !naming_.empty(); }
  boost::asio::awaitable<Admitted> byToken(const http::Query& query, std::string token) const;
  boost::asio::awaitable<Admitted> byName(const http::Query& query) const;
  // Finds the session of a request that the guard admits.
  boost::asio::awaitable<Admitted> find(const http::Query& query) const;

  const RequestGuard& guard_;
  SessionStore& sessions_;
  ViewerLogin* login_;
  const http::TrustedProxies& naming_;
};

}  // namespace divvy::console
