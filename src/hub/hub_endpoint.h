// What the hub answers: clusters with their capacity, where a pod fits, and waiting workloads.
// Private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "dispatch/dispatcher.h"
#include "http/server.h"
#include "workers/worker.h"

namespace divvy::hub {

// For the event loop's thread only.
class HubEndpoint {
 public:
  // All arguments outlive it. `dispatcher` null: no workload is dispatched.
  HubEndpoint(boost::asio::any_io_executor executor,
              const std::vector<std::unique_ptr<Worker>>& workers, const Dispatcher* dispatcher)
      : executor_(std::move(executor)), workers_(workers), dispatcher_(dispatcher) {}

  std::vector<http::Route> routes();

 private:
  http::Answer clusters() const;
  http::Answer dispatch() const;
  http::Answer metrics() const;
  boost::asio::awaitable<http::Answer> fit(http::Query query);

  boost::asio::any_io_executor executor_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  const Dispatcher* dispatcher_;
  unsigned questions_ = 0;  // in progress
};

}  // namespace divvy::hub
