// Reads a view source in regular intervals.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "reading/view_source.h"

namespace divvy::console {

// Calls ViewSource::read() on a thread of its own, and take() on the executor's thread. The next
// reading starts `interval` after the one before has ended.
class ViewPoller {
 public:
  // Called on the executor's thread with the present views.
  using Publish = std::function<void(std::shared_ptr<const ViewSet> views)>;

  ViewPoller(boost::asio::any_io_executor executor, std::unique_ptr<ViewSource> source);
  // Waits for a reading in progress.
  ~ViewPoller();
  ViewPoller(const ViewPoller&) = delete;
  ViewPoller& operator=(const ViewPoller&) = delete;

  void start(std::chrono::milliseconds interval, Publish publish);

 private:
  using Ended = std::shared_ptr<bool>;

  boost::asio::awaitable<void> follow(Ended ended, std::chrono::milliseconds interval);
  // Waits, and builds views that viewers wait for.
  boost::asio::awaitable<void> pause(Ended ended, std::chrono::milliseconds interval);
  void take();

  boost::asio::any_io_executor executor_;
  std::unique_ptr<ViewSource> source_;
  Publish publish_;
  Ended ended_ = std::make_shared<bool>(false);
  boost::asio::thread_pool thread_{1};
};

}  // namespace divvy::console
