// Writes a condition into pods that have waited for devices for a while, with the reason. Events
// expire; conditions stay. Private.
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

// For the client's thread only. All arguments outlive it.
class PendingConditionController : public ClusterObserver {
 public:
  // `why_not`: returns why this replica neither schedules nor writes now; empty: it does.
  PendingConditionController(boost::asio::any_io_executor executor, kube::Client& client,
                             const SchedulerCache& cache, std::function<std::string()> why_not,
                             const bool* stopped);

  // Reads the condition that a replica wrote before. If the pod has a node by now, the condition is
  // set to true.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // Writes conditions until *stopped is true.
  boost::asio::awaitable<void> run();

 private:
  struct LastNotice {
    engine::Instant since, next;  // start of the wait; time of the next condition
    std::string text;
  };

  void keepWaiting(const std::vector<UnschedulablePod>& refused, engine::Instant now);
  boost::asio::awaitable<void> publishWaiting(engine::Instant now);
  boost::asio::awaitable<void> publishSettled();
  boost::asio::awaitable<Result<void>> write(UnschedulablePod pod, bool fits, std::string message);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const SchedulerCache& cache_;
  std::function<std::string()> why_not_;
  const bool* stopped_;
  std::map<std::string, LastNotice> waiting_;  // by UID
  std::map<std::string, std::string> told_;    // by UID: message of the condition
  std::map<std::string, UnschedulablePod>
      settled_;               // by UID: pods with a node and a condition that they wait
  std::string last_settled_;  // UID of the last one that was tried
};

// Returns the patch of the status of the pod with this UID. `seconds`: since 1970. Pure.
std::string noticePatch(const std::string& uid, bool fits, const std::string& message,
                        std::int64_t seconds);

}  // namespace divvy::scheduler
