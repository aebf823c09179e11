// Reads the agents in regular intervals.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "console/node_source.h"
#include "recording/recorder.h"
#include "view/node_view.h"

namespace divvy::console {

// Calls NodeSource::read() on a thread of its own; builds views and records history on the
// executor's thread. The next reading starts `interval` after the one before has ended.
class AgentPoller {
 public:
  // Called on the executor's thread with the view before and the present one.
  using Publish = std::function<void(std::shared_ptr<const NodeView> before,
                                     std::shared_ptr<const NodeView> now)>;

  // `source` and `store` must outlive this object.
  AgentPoller(boost::asio::any_io_executor executor, NodeSource& source, WhySlow why_slow,
              history::Store& store);
  // Waits for a reading in progress.
  ~AgentPoller();
  AgentPoller(const AgentPoller&) = delete;
  AgentPoller& operator=(const AgentPoller&) = delete;

  void start(std::chrono::milliseconds interval, Publish publish);

 private:
  using Ended = std::shared_ptr<bool>;

  boost::asio::awaitable<void> follow(Ended ended, std::chrono::milliseconds interval);
  void take(const std::vector<NodeReading>& readings);

  boost::asio::any_io_executor executor_;
  NodeSource& source_;
  ViewBuilder builder_;
  Recorder recorder_;
  Publish publish_;
  std::shared_ptr<const NodeView> view_ = std::make_shared<const NodeView>();
  Ended ended_ = std::make_shared<bool>(false);
  boost::asio::thread_pool thread_{1};
};

}  // namespace divvy::console
