// Binds pods: one call writes the node and the assignment. Only the leader makes it. Private.
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

// For the client's thread only. All arguments outlive it.
class Binder {
 public:
  struct Options {
    // kube-scheduler chose the node: devices are reserved there during the bind.
    bool chosen_elsewhere = false;
    std::chrono::seconds reservation{};    // time for which such a reservation holds
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
    std::function<void()> changed;         // called after a change of allocations
    // Returns the annotations by which the node is locked for its agents; empty: no lock is needed.
    std::function<std::vector<std::string>(const BindPlan&)> locks;
    bool deprecated_names = true;  // bindings have the annotations of the release before, too
  };
  Binder(kube::Client& client, SchedulerCache& cache, const LeaseWatcher& election,
         Counters& counts, Options options)
      : client_(client),
        cache_(cache),
        election_(election),
        counts_(counts),
        locks_(client),
        options_(std::move(options)) {}

  // Answers POST /bind. Waits for locks, for the kubelet and for the API server without blocking
  // the thread.
  boost::asio::awaitable<http::Answer> answer(http::Query query);

 private:
  // Waits until the node's kubelet offers the pod's devices again, at most five seconds.
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
