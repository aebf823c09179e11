// Against the published results, where the trace is there. A few seeds of one workload; all of them
// are compared in bench/results.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <thread>

#include "simulator/runs.h"
#include "trace_files.h"

namespace divvy::simulator {
namespace {

using engine::Policy;

const std::map<std::string, Policy> kPublishedNames{{"01-Random", Policy::kRandom},
                                                    {"02-DotProd", Policy::kDotProduct},
                                                    {"03-GpuClustering", Policy::kClustering},
                                                    {"04-GpuPacking", Policy::kPacking},
                                                    {"05-BestFit", Policy::kBestFit},
                                                    {"06-FGD", Policy::kFgd}};

// Columns: workload, policy, tune, seed, GPUs, then one per percent.
std::map<Policy, double> publishedAt100(const std::string& text, const std::string& workload) {
  std::map<Policy, double> sums;
  std::map<Policy, double> seeds;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (row[0] != workload) continue;
    const Policy policy = kPublishedNames.at(row[1]);
    sums[policy] += std::stod(row.at(105));
    ++seeds[policy];
  }
  for (auto& [policy, sum] : sums) sum /= seeds[policy];
  return sums;
}

TEST(Parity, DefaultWorkload_AllocationAsPublished) {
  const std::optional<std::string> trace = publishedTrace();
  if (!trace) {
    GTEST_SKIP() << "no openb trace: neither $DIVVY_OPENB nor shared/data/openb in the source "
                    "folder or above it";
  }
  const std::map<Policy, double> published = publishedAt100(
      contentsOf(*trace + "/fgd_expected/alloc_ratio_by_arrival.csv"), "openb_pod_list_default");
  ASSERT_EQ(published.size(), 6u);
  Runs runs;
  runs.nodes = *parseOpenbNodes(contentsOf(*trace + "/openb_node_list_gpu_node.csv"), "nodes");
  runs.workloads.push_back(
      {"default",
       *parseOpenbPods(contentsOf(*trace + "/pods/openb_pod_list_default.csv"), "pods")});
  for (const auto& [policy, mean] : published) runs.policies.push_back(policy);
  runs.seeds = {42, 43};
  const auto outcomes = runAll(runs, 2, [](std::size_t, std::size_t) {});
  ASSERT_TRUE(outcomes);
  for (const WorkloadResult& one : *outcomes) {
    // Two seeds of ours and ten of theirs: three standard deviations of the difference.
    const bool wide = one.policy == Policy::kPacking || one.policy == Policy::kClustering;
    EXPECT_NEAR(one.mean, published.at(one.policy), wide ? 1.5 : 0.8) << nameOf(one.policy);
    if (one.policy == Policy::kFgd) {
      EXPECT_NEAR(one.mean, published.at(one.policy), 0.3);
      EXPECT_GE(one.mean, 94.9);
    }
  }
}

}  // namespace
}  // namespace divvy::simulator
