// Plans which pods have to terminate for gated pods: victims that queues reclaim or priorities
// allow, so that devices, quota, CPU and memory suffice. Pure. Private.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "preemption/disruption_budgets.h"
#include "preemption/eviction_attempts.h"
#include "preemption/quota_overlay.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

// Not thread-safe. All parts outlive it.
class GatedEvictionPlanner {
 public:
  struct Parts {
    SchedulerCache& cache;
    QueueTree& queues;
    const RunningPods& running_pods;
    const DisruptionBudgets& budgets;
    const EvictionAttempts& attempts;
    PreemptionCounts& counts;
  };
  explicit GatedEvictionPlanner(const Parts& parts) : parts_(parts) {}

  // Returns a plan: first by the queue's reclaim, then by priority. None: no victims make it
  // fit. Counts each way that found none.
  std::optional<GatedEvictionPlan> plan(const PodSet& pod_set, const PreemptionOptions& options);
  // Returns true if the rest of the plan is still allowed: pods may have terminated since, or be
  // protected now.
  bool stillAllowed(const EvictionAttempt& attempt, const PreemptionOptions& options);

 private:
  // One search: for which pods, with which terms, beside which terminating pods.
  struct Search {
    const PodSet& pod_set;
    const PreemptionOptions& options;
    engine::ReclaimOptions terms;
    std::vector<std::string> terminating;  // UIDs
    QuotaOverlay& overlay;
  };

  static std::vector<engine::ReclaimOptions> waysFor(const PodSet& pod_set, bool reclaims);
  std::optional<GatedEvictionPlan> tryPlan(const Search& search);
  bool accept(const Search& search, GatedEvictionPlan* plan);
  void spareVictims(const Search& search, GatedEvictionPlan* plan);
  bool addForQueue(const Search& search, GatedEvictionPlan* plan);
  bool withinQuota(const PodSet& pod_set, const std::vector<ModelUsage>& use) const;
  bool nodeResourcesFit(const Search& search, const GatedEvictionPlan& plan) const;
  bool isFair(const PodSet& pod_set, engine::ReclaimOptions terms,
              const GatedEvictionPlan& plan) const;
  engine::EvictionCosts costsOf(const QueueTree::Groups& groups,
                                const PreemptionOptions& options) const;
  std::set<engine::JobName> spared(const std::string& key, const PreemptionOptions& options) const;
  std::set<engine::JobName> protectedOf(const std::vector<std::string>& uids,
                                        const PreemptionOptions& options) const;
  void overlayOthers(const PodSet& pod_set, QuotaOverlay* overlay) const;

  Parts parts_;
};

}  // namespace divvy::scheduler
