// Tells kube-scheduler that pods which it was refused would fit now. Private.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "kube/client.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For one thread, that of the client. All outlives it.
class Requeuer {
 public:
  // `why_not`: why nothing is placed here now; empty: it is.
  Requeuer(boost::asio::any_io_executor executor, kube::Client& client, SchedulerCache& cache,
           Counters& counts, std::function<std::string()> why_not);

  // Something may have become free: who waits for it is looked at soon, once for all that changes
  // until then.
  void lookAgain();

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
