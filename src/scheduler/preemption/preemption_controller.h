// The preemption controller: evicts pods of lower priority for unschedulable pods, by the Eviction
// API and only while this replica leads. Capacity that victims leave is nominated for the pod that
// preempted them. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kube/client.h"
#include "preemption/disruption_budgets.h"
#include "preemption/gated_preemption.h"
#include "preemption/preemption_backoff.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "runtime/cluster_observer.h"
#include "runtime/informers.h"
#include "scheduler/cache.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

// For the client's thread only. All arguments outlive it.
class PreemptionController : public ClusterObserver {
 public:
  struct Options {
    std::string scheduler;                 // name of the scheduler, for Events
    std::int64_t min_runtime = 0;          // seconds, for pods without the annotation
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
    const bool* stopped = nullptr;
    std::function<void(const Error&)> unreadable = {};  // called for errors of RunningPods::set
  };
  PreemptionController(boost::asio::any_io_executor executor, kube::Client& client,
                       SchedulerCache& cache, PreemptionCounts& counts, Options options);

  // Sets the gated preemption. This controller carries out its evictions. Call before start(). It
  // outlives this object.
  void setGatedPreemption(GatedPreemption* gated_preemption) {
    gated_preemption_ = gated_preemption;
  }
  const RunningPods& running_pods() const { return running_pods_; }
  const DisruptionBudgets& budgets() const { return budgets_; }
  // Returns true if evictions are allowed now: disruption budgets are known, and this replica
  // leads.
  bool ready() const { return watches_.known() && options_.why_not().empty(); }

  // Starts the informer of disruption budgets and the periodic work. Call once.
  void start();

  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // As PreemptionBackoff::refused and offered. They ignore a pod that may not preempt, and one with
  // no running pod of lower priority.
  void refused(const kube::Pod& pod, std::span<const std::string_view> nodes);
  void offered(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // Drops all plans and nominations, as another replica may have led since.
  void forget();

 private:
  // A plan for one pod, in progress.
  struct Attempt {
    kube::Pod pod;
    PreemptorPod preemptor;
    PreemptionPlan plan;
    engine::Instant until{};      // end of the nomination
    bool failed = false;          // not all victims terminate: another plan may be made
    engine::Instant next_call{};  // not requeued before
    unsigned calls = 0;
  };

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> advance();
  boost::asio::awaitable<void> call(Attempt attempt);
  boost::asio::awaitable<void> attempt(PreemptionCandidate contender);
  boost::asio::awaitable<std::optional<PreemptionPlan>> choosePlan(
      const PreemptionCandidate& contender, const PreemptorPod& preemptor,
      IneligibleCounts* ineligible);
  boost::asio::awaitable<void> carryOut(std::string uid);
  boost::asio::awaitable<void> clear();
  // Evicts a pod. `still`: false cancels the call before it is sent. `reason`, `why`: of the
  // victim's Event. Returns true if the pod terminates or is gone.
  boost::asio::awaitable<bool> evict(RunningPod victim, std::function<bool()> still,
                                     const char* reason, std::string why);
  boost::asio::awaitable<void> send(kube::Call call);
  std::optional<PreemptionPlan> planAt(const std::string& node, const PreemptorPod& preemptor,
                                       IneligibleCounts* ineligible) const;
  Result<std::optional<PreemptorPod>> claimantOf(const kube::Pod& pod) const;
  PreemptionOptions options() const;
  bool waitsStill(const std::string& uid) const;
  void wake() { pause_.cancel(); }
  void end(const std::string& uid);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  SchedulerCache& cache_;
  PreemptionCounts& counts_;
  Options options_;
  Informers watches_;
  RunningPods running_pods_;
  DisruptionBudgets budgets_;
  PreemptionBackoff backoff_;
  GatedPreemption* gated_preemption_ = nullptr;
  std::map<std::string, Attempt> attempts_;  // by UID of the preempting pod
  boost::asio::steady_timer pause_;
};

}  // namespace divvy::scheduler
