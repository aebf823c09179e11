#include "reading/agent_poller.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "asio/rethrow.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;

history::Instant instantNow() {
  return std::chrono::time_point_cast<history::Span>(std::chrono::system_clock::now());
}

}  // namespace

AgentPoller::AgentPoller(asio::any_io_executor executor, NodeSource& source, WhySlow why_slow,
                         history::Store& store)
    : executor_(std::move(executor)), source_(source), builder_(why_slow), recorder_(store) {}

AgentPoller::~AgentPoller() {
  *ended_ = true;
  thread_.join();
}

void AgentPoller::start(std::chrono::milliseconds interval, Publish publish) {
  publish_ = std::move(publish);
  asio::co_spawn(executor_, follow(ended_, interval), rethrow);
}

asio::awaitable<void> AgentPoller::follow(Ended ended, std::chrono::milliseconds interval) {
  asio::steady_timer timer(executor_);
  while (!*ended) {
    const std::vector<NodeReading> readings = co_await asio::co_spawn(
        thread_,
        [this]() -> asio::awaitable<std::vector<NodeReading>> { co_return source_.read(); },
        asio::use_awaitable);
    // This object may be gone.
    if (*ended) co_return;
    take(readings);
    timer.expires_after(interval);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void AgentPoller::take(const std::vector<NodeReading>& readings) {
  const history::Instant now = instantNow();
  auto view =
      std::make_shared<const NodeView>(builder_.build(readings, now.time_since_epoch().count()));
  recorder_.record(readings, now);
  publish_(view_, view);
  view_ = std::move(view);
}

}  // namespace divvy::console
