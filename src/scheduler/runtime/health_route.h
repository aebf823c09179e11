// Routes for probes. Private.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "base/http_status.h"
#include "http/server.h"
#include "runtime/readiness.h"

namespace divvy::scheduler {

// Returns the route GET `path`. It answers 200 if `is` returns ready, else 503, with the text.
inline http::Route health(std::string path, std::function<Readiness()> is) {
  return {"GET", std::move(path), 0, [is](http::Query) -> boost::asio::awaitable<http::Answer> {
            const Readiness found = is();
            co_return http::Answer{
                found.ready ? http_status::kOk : http_status::kServiceUnavailable,
                found.text + '\n', "text/plain"};
          }};
}
// Returns the route GET /healthz. Any answer shows that the event loop runs.
inline http::Route alive() {
  return health("/healthz", [] { return Readiness{true, "ok"}; });
}

}  // namespace divvy::scheduler
