// Gated preemption: which pods to evict for gated pods, because their queue reclaims its guarantee
// or by priority, and what is nominated for them until they start. This decides only; the
// preemption controller evicts the pods that next() returns. Private.
//
// Crash safety: nothing of it is written. The next leader counts terminating pods as gone, and
// evicts only what is needed beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "preemption/disruption_budgets.h"
#include "preemption/node_resources_fit.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

// Gated pods that start as a whole.
struct PodSet {
  std::string key;  // key of the gang, or UID of a single pod
  std::vector<kube::Pod> pods;
  std::string queue;  // empty: none
};

// Not thread-safe. All arguments outlive it.
class GatedPreemption {
 public:
  struct Options {
    std::int64_t min_runtime = 0;            // seconds, for pods without the annotation
    std::function<bool()> ready;             // whether evictions are allowed now
    std::function<engine::Instant()> now;    // by the clock of the cache's callers
    std::function<std::int64_t()> calendar;  // seconds since 1970
  };
  GatedPreemption(SchedulerCache& cache, QueueTree& queues, const RunningPods& running_pods,
                  const DisruptionBudgets& budgets, PreemptionCounts& counts, Options options);

  // Plans evictions for pods that do not fit, after a growing pause between two plans, and
  // nominates the capacity for them. Returns a text about the plan in progress. None: there is none
  // now.
  std::optional<std::string> want(const PodSet& pod_set);
  // Ends the plan because all its pods have reservations. No more victims are evicted for it.
  void started(const std::string& key);
  // Ends plans for a pod that is gone, bound or terminating.
  void drop(const std::string& uid);
  // Drops all plans and nominations, as another replica may have led since.
  void forget();

  // The next victim to evict, with reason and text of its Event. None: no victim now.
  struct Eviction {
    std::string key;
    std::uint64_t attempt = 0;
    RunningPod victim;
    const char* reason;  // "Reclaimed", "Preempted"
    std::string why;
  };
  std::optional<Eviction> next();
  // Returns true if a plan is in progress for the pods with this key.
  bool stands(const std::string& key) const { return attempts_.contains(key); }
  // Returns true if the eviction's own plan is still in progress, and not a newer one for the same
  // pods.
  bool stands(const Eviction& eviction) const {
    const auto at = attempts_.find(eviction.key);
    return at != attempts_.end() && at->second.serial == eviction.attempt;
  }
  // Records the result of an eviction. `goes`: the victim terminates. If not, the plan ends, and a
  // new one is made after a pause.
  void answered(const Eviction& eviction, bool goes);
  // Ends plans that have expired.
  void advance();
  std::size_t underWay() const { return attempts_.size(); }

 private:
  struct Plan {
    engine::ReclaimTerms options;      // possible victims, without ReclaimTerms::spared
    std::vector<std::string> victims;  // UIDs
    std::vector<engine::Placement> places;
    std::vector<ModelUsage> use;
  };
  struct Attempt {
    PodSet pod_set;
    Plan plan;
    std::set<std::string> leaving;    // UIDs of victims, and of pods that terminate there
    std::vector<std::string> to_ask;  // UIDs of victims to evict; the last is the next
    engine::Instant until{};          // end of the nominations
    std::string text;
    std::uint64_t serial = 0;
  };
  struct BackoffEntry {
    unsigned count = 0;
    engine::Instant next{};
  };
  class QuotaOverlay;

  std::optional<Plan> planFor(const PodSet& pod_set);
  static std::vector<engine::ReclaimTerms> waysFor(const PodSet& pod_set, bool reclaims);
  std::optional<Plan> tryPlan(const PodSet& pod_set, const engine::ReclaimTerms& options,
                              const std::set<std::string>& gone, QuotaOverlay* overlay);
  bool accept(const PodSet& pod_set, const engine::ReclaimTerms& options,
              const std::set<std::string>& gone, Plan* plan, QuotaOverlay* overlay);
  void spareOthers(const PodSet& pod_set, const std::set<std::string>& gone, Plan* plan,
                   QuotaOverlay* overlay);
  bool admitted(const PodSet& pod_set, const std::vector<ModelUsage>& use);
  bool nodeResourcesFit(const PodSet& pod_set, const std::set<std::string>& gone,
                        const Plan& plan) const;
  GatedPreemptionCounts& countsOf(const Plan& plan);
  std::string whyOf(const Attempt& attempt, const RunningPod& victim) const;
  bool fair(const PodSet& pod_set, engine::ReclaimTerms options, const Plan& plan);
  bool addForQueue(const PodSet& pod_set, const engine::ReclaimTerms& options, Plan* plan,
                   QuotaOverlay* overlay);
  std::set<std::string> terminating() const;
  std::set<std::string> terminatingBut(const std::string& but) const;
  engine::EvictionCosts stakesOf(const QueueTree::Groups& groups,
                                 const PreemptionOptions& options) const;
  std::set<engine::JobName> spared(const std::string& but) const;
  std::set<engine::JobName> sparedOf(const std::vector<std::string>& uids) const;
  PreemptionOptions options() const;
  bool begin(const PodSet& pod_set, Plan plan);
  bool spent(const Attempt& attempt) const;
  bool stillOwed(const Attempt& attempt);
  void overlayOthers(const PodSet& pod_set, QuotaOverlay* overlay) const;
  void end(const std::string& key);
  bool mayTry(const std::string& key);

  SchedulerCache& cache_;
  QueueTree& queues_;
  const RunningPods& running_pods_;
  const DisruptionBudgets& budgets_;
  PreemptionCounts& counts_;
  Options options_;
  std::map<std::string, Attempt> attempts_;    // by key
  std::map<std::string, BackoffEntry> tries_;  // by key
  engine::Instant rest_until_{};               // no plan before
  std::uint64_t attempts_begun_ = 0;
  std::set<std::string> stuck_;  // UIDs of pods that did not terminate in time
};

}  // namespace divvy::scheduler
