// Room that is made for pods at the gate: who has to end for them, by what their queue is owed or
// by priority, and what is kept for them until they start. Decides; whoever evicts asks for the
// next one. Private.
//
// Crash safety: nothing of it is written. Whoever takes over finds pods that are ending, counts
// them as gone, and has only those end who are needed beside them.
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

// Pods that wait at the gate and start as one.
struct PodSet {
  std::string key;  // of the gang, or UID of a pod of its own
  std::vector<kube::Pod> pods;
  std::string queue;  // empty: of none
};

// For one thread; all that it is made of outlives it.
class GatedPreemption {
 public:
  struct Options {
    std::int64_t min_runtime = 0;            // seconds; of pods that do not say it themselves
    std::function<bool()> ready;             // whether anybody may be asked to end now
    std::function<engine::Instant()> now;    // on the clock of the books
    std::function<std::int64_t()> calendar;  // seconds since 1970
  };
  GatedPreemption(SchedulerCache& cache, QueueTree& queues, const RunningPods& running_pods,
                  const DisruptionBudgets& budgets, PreemptionCounts& counts, Options options);

  // They found no room. What is done about it: pods are chosen to end, at most once in a pause that
  // grows, and what these leave is claimed. None: nothing now.
  std::optional<std::string> want(const PodSet& pod_set);
  // They have their places; nobody else ends for them.
  void started(const std::string& key);
  // One of them is gone, or bound.
  void drop(const std::string& uid);
  // Whatever was begun: another may have led since.
  void forget();

  // Who is to be asked to end next, and what he is told. None: nobody now.
  struct Eviction {
    std::string key;
    std::uint64_t attempt = 0;
    RunningPod victim;
    const char* reason;  // "Reclaimed", "Preempted"
    std::string why;
  };
  std::optional<Eviction> next();
  bool stands(const std::string& key) const { return attempts_.contains(key); }
  // Another plan for the same pods may have been made meanwhile: of that one he is not.
  bool stands(const Eviction& eviction) const {
    const auto at = attempts_.find(eviction.key);
    return at != attempts_.end() && at->second.serial == eviction.attempt;
  }
  // Whether he goes: where not, nobody else is asked for them, and a new plan is made after a
  // pause.
  void answered(const Eviction& eviction, bool goes);
  // Gives up what was kept for too long.
  void advance();
  std::size_t underWay() const { return attempts_.size(); }

 private:
  struct Plan {
    engine::ReclaimTerms options;      // whom it may ask; nobody is spared in them
    std::vector<std::string> victims;  // UIDs
    std::vector<engine::Placement> places;
    std::vector<ModelUsage> use;
  };
  struct Attempt {
    PodSet pod_set;
    Plan plan;
    std::set<std::string> leaving;    // UIDs of who makes room: victims, and who was ending there
    std::vector<std::string> to_ask;  // UIDs; the last one first
    engine::Instant until{};          // for so long what they leave is kept
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
  engine::Instant rest_until_{};               // nothing is planned before
  std::uint64_t attempts_begun_ = 0;
  std::set<std::string> stuck_;  // UIDs: they were ending, and did not in time
};

}  // namespace divvy::scheduler
