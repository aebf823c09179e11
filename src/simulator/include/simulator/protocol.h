// One run of the protocol with which FGD was published (Weng et al., USENIX ATC 2023). Each pod
// arrives once, in a random order, until demand exceeds capacity. No retries, no departures. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/policy.h"
#include "engine/target.h"
#include "simulator/openb.h"

namespace divvy::simulator {

// Options of a run.
struct Protocol {
  engine::Policy policy = engine::Policy::kFgd;
  std::uint64_t seed = 42;
  double tune = 1.3;  // demand for GPUs, as a multiple of the capacity
  unsigned sample_percent =
      100;  // part of the nodes: a search ends when this many fit, as kube-scheduler's
};

inline constexpr std::size_t kArrivals =
    131;  // points of a curve: 0 to 130 percent of the capacity

// Values at each percentage of arrived demand. All in percent.
struct AllocationCurve {
  std::array<double, kArrivals> allocated{};        // of all GPUs
  std::array<double, kArrivals> fragment_ratio{};   // of idle GPUs
  std::array<double, kArrivals> fragment_amount{};  // of all GPUs
};

// The result of a run.
struct RunResult {
  AllocationCurve curve;
  std::uint64_t pods = 0;
  std::uint64_t failed_pods = 0;
  double failed_gpus = 0;
};

// Returns the kinds of pods that make up 95 % of all pods, the most frequent first.
engine::Target typicalPods(const std::vector<OpenbPod>& pods);

// Returns the indices of the arriving pods, in order. They are shuffled, then repeated at random or
// omitted until demand is `tune` times `capacity_milli` (thousandths of a GPU). Public for tests.
std::vector<std::uint32_t> arrivals(const std::vector<OpenbPod>& pods, double tune,
                                    std::int64_t capacity_milli, std::uint64_t seed);

// Runs the protocol once. Equal arguments give equal results. kUsage: a node or pod that the engine
// does not accept, or no GPU at all.
Result<RunResult> runProtocol(const std::vector<OpenbNode>& nodes,
                              const std::vector<OpenbPod>& pods, const Protocol& protocol);

}  // namespace divvy::simulator
