// What one tenant can make its node's agent do by its packets and by what it writes into its
// report, work and swap pages. An input is a list of steps (agent_pages.h). The oracle is time: no
// step of the agent costs more than 1 ms of processor time, whatever the tenant did before.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <vector>

#include "agent_pages.h"
#include "cost_bound.h"
#include "fuzz_input.h"

using namespace divvy;

namespace {

constexpr std::chrono::nanoseconds kBound = std::chrono::milliseconds(1);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static agent::AgentPages pages;
  std::vector<std::chrono::nanoseconds> cheapest;
  for (int i = 0; i < kMeasurements; ++i) {
    const std::vector<std::chrono::nanoseconds> costs = pages.run(FuzzInput(data, size));
    cheapest.resize(costs.size(), std::chrono::nanoseconds::max());
    bool within = true;
    for (std::size_t step = 0; step < costs.size(); ++step) {
      cheapest[step] = std::min(cheapest[step], costs[step]);
      within = within && cheapest[step] <= kBound * kSlowBuild;
    }
    if (within) return 0;
  }
  for (std::size_t step = 0; step < cheapest.size(); ++step)
    if (cheapest[step] > kBound * kSlowBuild)
      std::fprintf(stderr, "step %zu: %.3f ms of processor time\n", step,
                   static_cast<double>(cheapest[step].count()) / 1e6);
  need(false, "a step of the agent costs too much");
  return 0;
}
