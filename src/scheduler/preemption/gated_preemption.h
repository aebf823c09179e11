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

#include "preemption/node_resources_fit.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "telemetry/preemption_metrics.h"

namespace divvy::scheduler {

// Pods that wait at the gate and start as one.
struct Need {
  std::string key;  // of the gang, or UID of a pod of its own
  std::vector<kube::Pod> pods;
  std::string queue;  // empty: of none
};

// For one thread; all that it is made of outlives it.
class Clearances {
 public:
  struct Terms {
    std::int64_t min_runtime = 0;            // seconds; of pods that do not say it themselves
    std::function<bool()> ready;             // whether anybody may be asked to end now
    std::function<engine::Instant()> now;    // on the clock of the books
    std::function<std::int64_t()> calendar;  // seconds since 1970
  };
  Clearances(Books& books, Queues& queues, const Lodgers& lodgers, const Budgets& budgets,
             PreemptionCounts& counts, Terms terms);

  // They found no room. What is done about it: pods are chosen to end, at most once in a pause that
  // grows, and what these leave is claimed. None: nothing now.
  std::optional<std::string> want(const Need& need);
  // They have their places; nobody else ends for them.
  void started(const std::string& key);
  // One of them is gone, or bound.
  void drop(const std::string& uid);
  // Whatever was begun: another may have led since.
  void forget();

  // Who is to be asked to end next, and what he is told. None: nobody now.
  struct Step {
    std::string key;
    std::uint64_t course = 0;
    Lodger victim;
    const char* reason;  // "Reclaimed", "Preempted"
    std::string why;
  };
  std::optional<Step> next();
  bool stands(const std::string& key) const { return courses_.contains(key); }
  // Another plan for the same pods may have been made meanwhile: of that one he is not.
  bool stands(const Step& step) const {
    const auto at = courses_.find(step.key);
    return at != courses_.end() && at->second.serial == step.course;
  }
  // Whether he goes: where not, nobody else is asked for them, and a new plan is made after a
  // pause.
  void answered(const Step& step, bool goes);
  // Gives up what was kept for too long.
  void advance();
  std::size_t underWay() const { return courses_.size(); }

 private:
  struct Plan {
    engine::ReclaimTerms terms;        // whom it may ask; nobody is spared in them
    std::vector<std::string> victims;  // UIDs
    std::vector<engine::Placement> places;
    std::vector<ModelUse> use;
  };
  struct Course {
    Need need;
    Plan plan;
    std::set<std::string> leaving;    // UIDs of who makes room: victims, and who was ending there
    std::vector<std::string> to_ask;  // UIDs; the last one first
    engine::Instant until{};          // for so long what they leave is kept
    std::string text;
    std::uint64_t serial = 0;
  };
  struct Try {
    unsigned count = 0;
    engine::Instant next{};
  };
  class Supposed;

  std::optional<Plan> planFor(const Need& need);
  static std::vector<engine::ReclaimTerms> waysFor(const Need& need, bool reclaims);
  std::optional<Plan> tryPlan(const Need& need, const engine::ReclaimTerms& terms,
                              const std::set<std::string>& gone, Supposed* supposed);
  bool accept(const Need& need, const engine::ReclaimTerms& terms,
              const std::set<std::string>& gone, Plan* plan, Supposed* supposed);
  void spareOthers(const Need& need, const std::set<std::string>& gone, Plan* plan,
                   Supposed* supposed);
  bool admitted(const Need& need, const std::vector<ModelUse>& use);
  bool roomBesideDevices(const Need& need, const std::set<std::string>& gone,
                         const Plan& plan) const;
  ClearanceCounts& countsOf(const Plan& plan);
  std::string whyOf(const Course& course, const Lodger& victim) const;
  bool fair(const Need& need, engine::ReclaimTerms terms, const Plan& plan);
  bool addForQueue(const Need& need, const engine::ReclaimTerms& terms, Plan* plan,
                   Supposed* supposed);
  std::set<std::string> going() const;
  std::set<std::string> goneBySoon(const std::string& but) const;
  engine::Stakes stakesOf(const Queues::Groups& groups, const PreemptionTerms& terms) const;
  std::set<engine::JobName> spared(const std::string& but) const;
  std::set<engine::JobName> sparedOf(const std::vector<std::string>& uids) const;
  PreemptionTerms terms() const;
  bool begin(const Need& need, Plan plan);
  bool spent(const Course& course) const;
  bool stillOwed(const Course& course);
  void supposeOthers(const Need& need, Supposed* supposed) const;
  void end(const std::string& key);
  bool mayTry(const std::string& key);

  Books& books_;
  Queues& queues_;
  const Lodgers& lodgers_;
  const Budgets& budgets_;
  PreemptionCounts& counts_;
  Terms terms_;
  std::map<std::string, Course> courses_;  // by key
  std::map<std::string, Try> tries_;       // by key
  engine::Instant rest_until_{};           // nothing is planned before
  std::uint64_t courses_begun_ = 0;
  std::set<std::string> stuck_;  // UIDs: they were ending, and did not in time
};

}  // namespace divvy::scheduler
