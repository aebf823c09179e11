// Who has to end on a node so that a pod of higher priority fits: its devices, processors and
// memory together, on an engine of its own. Pure. Private.
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
  std::int64_t min_runtime = 0;  // seconds; of pods that do not say it themselves
  std::int64_t now = 0;          // seconds since 1970
};

struct PreemptionPlan {
  std::string node;
  // UIDs, ascending; whole groups, on other nodes too. None: those who are ending are enough.
  std::vector<std::string> victims;
  engine::Placement placement;  // what the pod gets once they are gone
  engine::PreemptionCost cost;
};

// Why some of lower priority were not thought of, on the nodes that were looked at.
struct IneligibleCounts {
  std::size_t fixed = 0;       // they say so, or their end would change nothing
  std::size_t young = 0;       // have not run for long enough
  std::size_t budgeted = 0;    // a disruption budget allows none of them, or several are about one
  std::uint64_t tries = 0;     // that the search for victims cost so far, as of engine::Engine
  std::size_t unsearched = 0;  // nodes that were left when they were spent
};

// Whether it may be asked to end for anybody, whatever their priorities.
bool mayEvict(const RunningPod& running, const DisruptionBudgets& budgets,
              const PreemptionOptions& options, IneligibleCounts* ineligible);
// What its end would cost.
void addEvictionCost(const RunningPod& running, const DisruptionBudgets& budgets,
                     const PreemptionOptions& options, engine::EvictionCosts* stakes);

// A pod that was refused, as it is placed: `request` says what it asks for of devices.
struct PreemptorPod {
  std::string uid;
  std::int64_t priority = 0;
  PodResources resources;
  engine::Request request;
};

// The cheapest there: fewest budgets broken (none: a plan that breaks one is no plan), lowest
// priority of who ends, least time that was run for nothing, fewest pods. Who is ending is gone
// already. None: no such plan, or it fits as everything is. Errors: as of the engine.
Result<std::optional<PreemptionPlan>> selectVictims(const NodeSnapshot& snapshotOf,
                                                    const PreemptorPod& preemptor,
                                                    const RunningPods& running_pods,
                                                    const DisruptionBudgets& budgets,
                                                    const PreemptionOptions& options,
                                                    IneligibleCounts* ineligible);

// It fits beside everybody who is there still.
Result<bool> fitsNow(const NodeSnapshot& snapshotOf, const PreemptorPod& preemptor,
                     const RunningPods& running_pods, const PreemptionOptions& options);

}  // namespace divvy::scheduler
