// Makes pods of lower priority end for those that were refused: by the Eviction API, and only while
// we lead. What they leave is kept for whom they ended. Private.
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

// For one thread, that of the client. All outlives it.
class PreemptionController : public ClusterObserver {
 public:
  struct Options {
    std::string scheduler;                 // who it says it is
    std::int64_t min_runtime = 0;          // seconds; of pods that do not say it themselves
    std::function<std::string()> why_not;  // why nothing is placed here now; empty: it is
    const bool* stopped = nullptr;
    std::function<void(const Error&)> unreadable = {};  // a pod that RunningPods refuses
  };
  PreemptionController(boost::asio::any_io_executor executor, kube::Client& client,
                       SchedulerCache& cache, PreemptionCounts& counts, Options options);

  // Whom to ask for those that wait at the gate, too: before start, and it outlives this.
  void endFor(GatedPreemption* clearances) { clearances_ = clearances; }
  const RunningPods& running_pods() const { return running_pods_; }
  const DisruptionBudgets& budgets() const { return budgets_; }
  // Somebody may be asked to end now: it is known what protects whom.
  bool ready() const { return watches_.known() && options_.why_not().empty(); }

  // Follows disruption budgets, too, from here on.
  void start();

  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // As PreemptionBackoff has it; nothing comes of it where nobody of lower priority is on a node.
  void refused(const kube::Pod& pod, std::span<const std::string_view> nodes);
  void offered(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // Whatever was planned: another may have led since.
  void forget();

 private:
  // Some end, or have, for one pod.
  struct Attempt {
    kube::Pod pod;
    PreemptorPod preemptor;
    PreemptionPlan plan;
    engine::Instant until{};      // for so long what they leave is kept
    bool failed = false;          // not all of them end: another plan may be made
    engine::Instant next_call{};  // kube-scheduler is told to look again, not before
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
  // `still`: whether it is to be. What the victim is told, and by which reason.
  boost::asio::awaitable<bool> evict(RunningPod victim, std::function<bool()> still,
                                     const char* reason, std::string why);
  boost::asio::awaitable<void> tell(kube::Call call);
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
  GatedPreemption* clearances_ = nullptr;
  std::map<std::string, Attempt> attempts_;  // by the UID of whom they end for
  boost::asio::steady_timer pause_;
};

}  // namespace divvy::scheduler
