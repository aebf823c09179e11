// Tells pods that have waited for devices for a while why, in a condition of theirs: events pass,
// conditions stay. Private.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "engine/units.h"
#include "kube/client.h"
#include "kube/pod.h"
#include "runtime/cluster_observer.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// For one thread, that of the client. All outlives it.
class PendingConditionController : public ClusterObserver {
 public:
  // `why_not`: why nothing is placed here now, nor told; empty: it is.
  PendingConditionController(boost::asio::any_io_executor executor, kube::Client& client,
                             const SchedulerCache& cache, std::function<std::string()> why_not,
                             const bool* stopped);

  // A pod as the API server tells it: what it was told before, by whomever of us. One that has a
  // node does not wait any more, and is told that.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // Until *stopped is true.
  boost::asio::awaitable<void> run();

 private:
  struct LastNotice {
    engine::Instant since, next;  // waits; is not told anything else before
    std::string text;
  };

  void keepWaiting(const std::vector<UnschedulablePod>& refused, engine::Instant now);
  boost::asio::awaitable<void> tellWaiting(engine::Instant now);
  boost::asio::awaitable<void> tellSettled();
  boost::asio::awaitable<Result<void>> write(std::string space, std::string name, bool fits,
                                             std::string message);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const SchedulerCache& cache_;
  std::function<std::string()> why_not_;
  const bool* stopped_;
  std::map<std::string, LastNotice> waiting_;  // by UID
  std::map<std::string, std::string> told_;    // by UID: what is written there
  std::map<std::string, UnschedulablePod>
      settled_;  // by UID: has a node, and is told that it waits
};

// The patch of a pod's status. Pure.
std::string noticePatch(bool fits, const std::string& message, std::int64_t seconds);

}  // namespace divvy::scheduler
