#include "simulator/runs.h"

#include <cmath>
#include <optional>
#include <utility>

#include "day/side_by_side.h"

namespace divvy::simulator {
namespace {

constexpr std::size_t kBarArrival = 100;
using Results = std::vector<std::optional<RunResult>>;

void add(AllocationCurve& sum, const AllocationCurve& one, double part) {
  for (std::size_t x = 0; x < kArrivals; ++x) {
    sum.allocated[x] += part * one.allocated[x];
    sum.fragment_ratio[x] += part * one.fragment_ratio[x];
    sum.fragment_amount[x] += part * one.fragment_amount[x];
  }
}

WorkloadResult outcomeOf(const Runs& runs, const Results& results, std::size_t first) {
  WorkloadResult outcome;
  const std::size_t seeds = runs.seeds.size();
  const double part = 1.0 / static_cast<double>(seeds);
  for (std::size_t i = first; i < first + seeds; ++i) {
    const RunResult& one = *results[i];
    outcome.alloc_at_100.push_back(one.curve.allocated[kBarArrival]);
    outcome.mean += part * outcome.alloc_at_100.back();
    outcome.pods += part * static_cast<double>(one.pods);
    outcome.failed_pods += part * static_cast<double>(one.failed_pods);
    outcome.failed_gpus += part * one.failed_gpus;
    add(outcome.curve, one.curve, part);
  }
  double squares = 0;
  for (const double value : outcome.alloc_at_100) {
    squares += (value - outcome.mean) * (value - outcome.mean);
  }
  if (seeds > 1) outcome.sd = std::sqrt(squares / static_cast<double>(seeds - 1));
  return outcome;
}

}  // namespace

Result<std::vector<WorkloadResult>> runAll(const Runs& runs, unsigned threads,
                                           const Progress& progress) {
  Results results(runs.count());
  const std::size_t per_workload = runs.policies.size() * runs.seeds.size();
  const auto run = [&](std::size_t at) -> Result<void> {
    Protocol protocol;
    protocol.policy = runs.policies[at % per_workload / runs.seeds.size()];
    protocol.seed = runs.seeds[at % runs.seeds.size()];
    protocol.tune = runs.tune;
    protocol.sample_percent = runs.sample_percent;
    Result<RunResult> result =
        runProtocol(runs.nodes, runs.workloads[at / per_workload].pods, protocol);
    if (!result) return result.error();
    results[at] = std::move(*result);
    return {};
  };
  const Result<void> all = sideBySide(runs.count(), threads, run, progress);
  if (!all) return all.error();
  std::vector<WorkloadResult> outcomes;
  std::size_t first = 0;
  for (const Workload& workload : runs.workloads) {
    for (const engine::Policy policy : runs.policies) {
      outcomes.push_back(outcomeOf(runs, results, first));
      outcomes.back().workload = workload.name;
      outcomes.back().policy = policy;
      first += runs.seeds.size();
    }
  }
  return outcomes;
}

}  // namespace divvy::simulator
