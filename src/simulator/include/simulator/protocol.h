// One run of the protocol that FGD was published with: every pod once, in a random order, until
// more has arrived than there is; no retries, no departures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/policy.h"
#include "engine/target.h"
#include "simulator/openb.h"

namespace divvy::simulator {

struct Protocol {
  engine::Policy policy = engine::Policy::kFgd;
  std::uint64_t seed = 42;
  double tune = 1.3;  // demand for GPUs, in capacities
  unsigned sample_percent =
      100;  // of the nodes: looking ends when so many fit, as kube-scheduler's
};

inline constexpr std::size_t kArrivals = 131;  // 0 to 130 percent of the capacity

// At each percentage of arrived demand; all in percent.
struct AllocationCurve {
  std::array<double, kArrivals> allocated{};        // of all GPUs
  std::array<double, kArrivals> fragment_ratio{};   // of idle GPUs
  std::array<double, kArrivals> fragment_amount{};  // of all GPUs
};

struct RunResult {
  AllocationCurve curve;
  std::uint64_t pods = 0;
  std::uint64_t failed_pods = 0;
  double failed_gpus = 0;
};

// The kinds of pods that make up 95 % of them, the most frequent first.
engine::Target typicalPods(const std::vector<OpenbPod>& pods);

// The pods that arrive, in order: shuffled, then drawn again or left out until demand is `tune`
// times `capacity_milli`. Exposed for tests.
std::vector<std::uint32_t> arrivals(const std::vector<OpenbPod>& pods, double tune,
                                    std::int64_t capacity_milli, std::uint64_t seed);

// kUsage: a node or pod that the engine does not take, or no GPU at all.
Result<RunResult> runProtocol(const std::vector<OpenbNode>& nodes,
                              const std::vector<OpenbPod>& pods, const Protocol& protocol);

}  // namespace divvy::simulator
