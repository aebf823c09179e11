#include "telemetry/startup_health.h"

#include <csignal>
#include <utility>
#include <vector>

#include "base/http_status.h"
#include "log/log.h"

namespace divvy::agent {

void StartupHealth::listen() {
  http::Listen listen;
  listen.host = where_->host;
  listen.port = where_->port;
  std::vector<http::Route> routes;
  // A node without devices is ready, so that an upgrade of all nodes does not wait for it.
  for (const char* path : {kAlivePath, kReadyPath})
    routes.push_back(
        {"GET", path, 0, [this](http::Query) -> asio::awaitable<http::Answer> {
           co_return http::Answer{http_status::kOk, "waiting for " + what_ + '\n', "text/plain"};
         }});
  Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop_.get_executor(), listen, std::move(routes));
  if (server) server_ = std::move(*server);
}

bool StartupHealth::endsWithin(std::chrono::seconds time, const std::string& what) {
  if (what != what_) log::warn("agent waits and tries again", {{"waiting_for", what}});
  what_ = what;
  if (where_ && !server_) listen();
  bool told = false;
  asio::signal_set ends(loop_, SIGTERM, SIGINT);
  ends.async_wait([&](const error_code& fault, int) {
    if (fault) return;
    told = true;
    loop_.stop();
  });
  loop_.restart();
  loop_.run_for(time);
  return told;
}

}  // namespace divvy::agent
