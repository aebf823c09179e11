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

// Between two readings of a source that does not know much yet, and between two looks for scopes
// without a view.
constexpr std::chrono::milliseconds kStep{100};

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
    co_await pause(ended, source_->settled() ? interval : std::min(interval, kStep));
  }
}

asio::awaitable<void> ViewPoller::pause(Ended ended, std::chrono::milliseconds interval) {
  asio::steady_timer timer(executor_);
  const auto until = std::chrono::steady_clock::now() + interval;
  while (std::chrono::steady_clock::now() < until) {
    timer.expires_at(std::min(until, std::chrono::steady_clock::now() + kStep));
    co_await timer.async_wait(asio::use_awaitable);
    if (*ended) co_return;
    if (!source_->lacksScopes()) continue;
    std::shared_ptr<const ViewSet> views;
    co_await asio::co_spawn(
        thread_,
        [this, &views]() -> asio::awaitable<void> {
          views = source_->addScopes();
          co_return;
        },
        asio::use_awaitable);
    if (*ended) co_return;
    if (views != nullptr) publish_(std::move(views));
  }
}

void ViewPoller::take() {
  std::shared_ptr<const ViewSet> views = source_->take(instantNow());
  if (views != nullptr) publish_(std::move(views));
}

}  // namespace divvy::console
