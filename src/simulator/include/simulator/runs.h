// Many runs of the protocol, side by side on the machine's processors, and what came of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/progress.h"
#include "simulator/protocol.h"

namespace divvy::simulator {

struct Workload {
  std::string name;
  std::vector<OpenbPod> pods;
};

struct Runs {
  std::vector<OpenbNode> nodes;
  std::vector<Workload> workloads;
  std::vector<engine::Policy> policies;
  std::vector<std::uint64_t> seeds;
  double tune = 1.3;
  unsigned sample_percent = 100;

  std::size_t count() const { return workloads.size() * policies.size() * seeds.size(); }
};

// Of one policy with one workload, over the seeds.
struct WorkloadResult {
  std::string workload;
  engine::Policy policy = engine::Policy::kFgd;
  std::vector<double> alloc_at_100;                   // by seed
  double mean = 0;                                    // of it
  double sd = 0;                                      // of a sample; 0 of one seed
  AllocationCurve curve;                              // mean over the seeds
  double pods = 0, failed_pods = 0, failed_gpus = 0;  // likewise
};

// By workload, then policy. The same for any number of `threads`. The first error ends it.
Result<std::vector<WorkloadResult>> runAll(const Runs& runs, unsigned threads,
                                           const Progress& progress);

// One object; of a single outcome with its figures at the top, of several under "results".
std::string json(const Runs& runs, const std::vector<WorkloadResult>& outcomes);
// A panel per workload, a line per policy: what is given of what has arrived.
std::string svg(const Runs& runs, const std::vector<WorkloadResult>& outcomes);

}  // namespace divvy::simulator
