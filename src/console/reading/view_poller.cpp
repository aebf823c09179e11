#include "reading/view_poller.h"

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "asio/rethrow.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;

// Between two readings of a source that does not know much yet.
constexpr std::chrono::milliseconds kUnsettled{100};

history::Instant instantNow() {
  return std::chrono::time_point_cast<history::Span>(std::chrono::system_clock::now());
}

}  // namespace

ViewPoller::ViewPoller(asio::any_io_executor executor, std::unique_ptr<ViewSource> source)
    : executor_(std::move(executor)), source_(std::move(source)) {}

ViewPoller::~ViewPoller() {
  *ended_ = true;
  thread_.join();
}

void ViewPoller::start(std::chrono::milliseconds interval, Publish publish) {
  publish_ = std::move(publish);
  asio::co_spawn(executor_, follow(ended_, interval), rethrow);
}

asio::awaitable<void> ViewPoller::follow(Ended ended, std::chrono::milliseconds interval) {
  asio::steady_timer timer(executor_);
  while (!*ended) {
    co_await asio::co_spawn(
        thread_,
        [this]() -> asio::awaitable<void> {
          source_->read();
          co_return;
        },
        asio::use_awaitable);
    // This object may be gone.
    if (*ended) co_return;
    take();
    timer.expires_after(source_->settled() ? interval : std::min(interval, kUnsettled));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void ViewPoller::take() {
  std::shared_ptr<const ConsoleView> view = source_->take(instantNow());
  if (view == nullptr) return;
  publish_(view_, view);
  view_ = std::move(view);
}

}  // namespace divvy::console
