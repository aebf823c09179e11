// Writes where a pod goes and what it was given there: one call, which only the leader makes.
// Private.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "extender/node_lock.h"
#include "extender/protocol.h"
#include "http/server.h"
#include "kube/client.h"
#include "runtime/lease_watcher.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For one thread, that of the client. All outlives it.
class Binder {
 public:
  struct Options {
    // The node was not chosen by us: devices are reserved there when it is bound.
    bool chosen_elsewhere = false;
    std::chrono::seconds reservation{};
    std::function<std::string()> why_not;  // why nothing is placed here now; empty: it is
    std::function<void()> changed;         // what is held
    // By which annotations its node is locked for the agents, if by any.
    std::function<std::vector<std::string>(const BindPlan&)> locks;
  };
  Binder(kube::Client& client, SchedulerCache& cache, const LeaseWatcher& election,
         Counters& counts, Options options)
      : client_(client),
        cache_(cache),
        election_(election),
        counts_(counts),
        locks_(client),
        options_(std::move(options)) {}

  // POST /bind
  boost::asio::awaitable<http::Answer> answer(http::Query query);

 private:
  // Until the node's kubelet offers again what it was given; not for ever.
  boost::asio::awaitable<void> offered(std::string uid);
  boost::asio::awaitable<std::string> lockAndBind(const BindingArgs& ask, const BindPlan& assigned);
  boost::asio::awaitable<std::string> bind(const BindingArgs& ask, const BindPlan& assigned,
                                           BindOutcome* end);

  kube::Client& client_;
  SchedulerCache& cache_;
  const LeaseWatcher& election_;
  Counters& counts_;
  NodeLocks locks_;
  Options options_;
};

}  // namespace divvy::scheduler
