// Many runs of the protocol in parallel, and their results. Pure but for its threads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/progress.h"
#include "simulator/protocol.h"

namespace divvy::simulator {

// A named set of pods.
struct Workload {
  std::string name;
  std::vector<OpenbPod> pods;
};

// The runs: each workload with each policy and each seed. Options as Protocol.
struct Runs {
  std::vector<OpenbNode> nodes;
  std::vector<Workload> workloads;
  std::vector<engine::Policy> policies;
  std::vector<std::uint64_t> seeds;
  double tune = 1.3;
  unsigned sample_percent = 100;

  // Returns the number of runs.
  std::size_t count() const { return workloads.size() * policies.size() * seeds.size(); }
};

// Results of one policy with one workload, over the seeds.
struct WorkloadResult {
  std::string workload;
  engine::Policy policy = engine::Policy::kFgd;
  std::vector<double> alloc_at_100;  // percent allocated at 100 % demand, by seed
  double mean = 0;                   // of alloc_at_100
  double sd = 0;                     // standard deviation of a sample; 0 for one seed
  AllocationCurve curve;             // mean over the seeds
  double pods = 0, failed_pods = 0, failed_gpus = 0;  // means over the seeds
};

// Executes all runs on `threads` threads. Returns results by workload, then policy. They do not
// depend on the number of threads. The first error ends it: kUsage, as runProtocol().
Result<std::vector<WorkloadResult>> runAll(const Runs& runs, unsigned threads,
                                           const Progress& progress);

// Returns a JSON object: a single result at its top, several under "results".
std::string json(const Runs& runs, const std::vector<WorkloadResult>& outcomes);
// Returns SVG charts of allocated against arrived demand: a panel for each workload, a line for
// each policy.
std::string svg(const Runs& runs, const std::vector<WorkloadResult>& outcomes);

}  // namespace divvy::simulator
