// Answers how much more fits: /capacity for the shapes of recent pods, /fit for one pod or for
// workloads of Kueue. Private.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "capacity/capacity_counter.h"
#include "capacity/shape_history.h"
#include "engine/units.h"
#include "http/server.h"
#include "kube/kueue.h"
#include "kueue/workload_fit.h"
#include "preemption/running_pods.h"
#include "runtime/cluster_observer.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// For the event loop's thread only. Counts in short turns, so that /filter does not wait.
class CapacityEndpoint : public ClusterObserver {
 public:
  struct Options {
    std::string scheduler, identity;       // names
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
    const bool* stopped = nullptr;
    // As WorkloadFit::wouldFit.
    std::function<std::vector<FitAnswer>(const std::vector<kube::KueueWorkload>&,
                                         const std::function<bool()>& over)>
        would_fit = {};
  };
  // All arguments outlive it.
  CapacityEndpoint(boost::asio::any_io_executor executor, const SchedulerCache& cache,
                   const RunningPods& running_pods, Options options);

  void onPodUpdate(const kube::Pod& pod) override;

  // Counts until the service stops.
  boost::asio::awaitable<void> run();
  // GET /capacity: the last report, with an ETag. POST /fit: how many more of a pod fit now, or
  // which workloads of a list do.
  std::vector<http::Route> routes();

 private:
  boost::asio::awaitable<void> publish(const CapacityRound& round);
  http::Answer reportAnswer() const;
  boost::asio::awaitable<http::Answer> fitAnswer(http::Query query);
  boost::asio::awaitable<http::Answer> podAnswer(boost::json::value object);
  http::Answer workloadsAnswer(const boost::json::value& list,
                               std::chrono::steady_clock::time_point read_since);
  void pauseAfter(std::chrono::steady_clock::duration spent);
  Result<RecentShape> shapeOf(const boost::json::value& object) const;

  boost::asio::any_io_executor executor_;
  const SchedulerCache& cache_;
  Options options_;
  CapacityCounter counter_;
  ShapeHistory history_;
  std::string text_, tag_;  // of the last report; empty: none yet
  unsigned questions_ = 0;  // in progress
  engine::Instant next_question_{};
};

}  // namespace divvy::scheduler
