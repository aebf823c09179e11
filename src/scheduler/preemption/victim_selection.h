// Victim selection: the cheapest pods to evict on one node so that a pod of higher priority fits.
// It counts devices, CPU, memory and pods together, on a separate engine. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "preemption/disruption_budgets.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

struct PreemptionOptions {
  engine::Config config;
  std::vector<engine::Pool> pools;
  std::int64_t min_runtime = 0;  // seconds, for pods without the annotation
  std::int64_t now = 0;          // seconds since 1970
};

struct PreemptionPlan {
  std::string node;
  // UIDs, ascending; whole groups, on other nodes too. Empty: the terminating pods are enough.
  std::vector<std::string> victims;
  engine::Placement placement;  // of the preempting pod, once the victims are gone
  engine::PreemptionCost cost;
};

// Why pods of lower priority on the examined nodes are no candidates.
struct IneligibleCounts {
  std::size_t fixed = 0;       // RunningPod::fixed
  std::size_t young = 0;       // have not run for their minimum time
  std::size_t budgeted = 0;    // a disruption budget allows no eviction, or several cover the pod
  std::uint64_t tries = 0;     // cost of the search so far, as engine::Engine::tries()
  std::size_t unsearched = 0;  // nodes that were left when the tries were spent
};

// Returns true if the pod may be evicted for other pods, regardless of priorities. If not, counts
// the cause in `ineligible`.
bool mayEvict(const RunningPod& running, const DisruptionBudgets& budgets,
              const PreemptionOptions& options, IneligibleCounts* ineligible);
// Adds the cost of the pod's eviction, and its disruption budget, to `costs`.
void addEvictionCost(const RunningPod& running, const DisruptionBudgets& budgets,
                     const PreemptionOptions& options, engine::EvictionCosts* costs);

// An unschedulable pod that may preempt other pods. `request`: the devices that it requests.
struct PreemptorPod {
  std::string uid;
  std::int64_t priority = 0;
  PodResources resources;
  engine::Request request;
};

// Returns the cheapest plan on the node: lowest priority of the highest victim, then least lost run
// time, then fewest victims. No plan breaks a disruption budget. Terminating pods count as gone.
// Returns nothing if no eviction helps or none is needed. Errors: as of engine::Engine.
Result<std::optional<PreemptionPlan>> selectVictims(const NodeSnapshot& snapshotOf,
                                                    const PreemptorPod& preemptor,
                                                    const RunningPods& running_pods,
                                                    const DisruptionBudgets& budgets,
                                                    const PreemptionOptions& options,
                                                    IneligibleCounts* ineligible);

// Returns true if the pod fits now, with terminating pods still in place. Errors: as of
// engine::Engine.
Result<bool> fitsNow(const NodeSnapshot& snapshotOf, const PreemptorPod& preemptor,
                     const RunningPods& running_pods, const PreemptionOptions& options);

}  // namespace divvy::scheduler
