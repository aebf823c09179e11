// Gated preemption: which pods to evict for gated pods, because their queue reclaims its guarantee
// or by priority, and the capacity nominated for them until they start. This decides only; the
// preemption controller evicts the pods that next() returns. Private.
//
// Crash safety: nothing of it is written. The next leader counts terminating pods as gone, and
// evicts only further victims that are needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "preemption/disruption_budgets.h"
#include "preemption/eviction_attempts.h"
#include "preemption/gated_eviction_planner.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

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
  bool stands(const std::string& key) const { return attempts_.find(key) != nullptr; }
  // Returns true if the eviction's own plan is still in progress, and not a newer one for the same
  // pods.
  bool stands(const Eviction& eviction) const {
    const EvictionAttempt* attempt = attempts_.find(eviction.key);
    return attempt != nullptr && attempt->serial == eviction.attempt;
  }
  // Records the result of an eviction. `goes`: the victim terminates. If not, the plan ends, and a
  // new one is made after a pause.
  void answered(const Eviction& eviction, bool goes);
  // Ends plans that have expired.
  void advance();
  std::size_t underWay() const { return attempts_.size(); }

 private:
  struct BackoffEntry {
    unsigned count = 0;
    engine::Instant next{};
  };

  PreemptionOptions planOptions() const;
  GatedPreemptionCounts& countsOf(const EvictionAttempt& attempt);
  std::string whyOf(const EvictionAttempt& attempt, const RunningPod& victim) const;
  const EvictionAttempt* begin(const PodSet& pod_set, GatedEvictionPlan plan);
  std::set<std::string> leavingFor(const GatedEvictionPlan& plan) const;
  bool isSpent(const EvictionAttempt& attempt) const;
  const RunningPod* nextVictim(EvictionAttempt* attempt) const;
  void breakOff(const std::string& key);
  bool mayTry(const std::string& key);

  SchedulerCache& cache_;
  const RunningPods& running_pods_;
  PreemptionCounts& counts_;
  Options options_;
  EvictionAttempts attempts_;
  GatedEvictionPlanner planner_;
  std::map<std::string, BackoffEntry> tries_;  // by key
  engine::Instant rest_until_{};               // no plan before
};

}  // namespace divvy::scheduler
