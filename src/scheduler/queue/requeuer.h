// Requeues unschedulable pods that fit now. Private.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "kube/client.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For the client's thread only. All arguments outlive it.
class Requeuer {
 public:
  // `why_not`: returns why this replica does not schedule now; empty: it does.
  Requeuer(boost::asio::any_io_executor executor, kube::Client& client, SchedulerCache& cache,
           Counters& counts, std::function<std::string()> why_not);

  // Call after capacity may have become free. Examines unschedulable pods soon, once for all calls
  // until then. Does not block.
  void requeueSoon();

 private:
  boost::asio::awaitable<void> requeue();

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  SchedulerCache& cache_;
  Counters& counts_;
  std::function<std::string()> why_not_;
  bool looking_ = false;
};

}  // namespace divvy::scheduler
