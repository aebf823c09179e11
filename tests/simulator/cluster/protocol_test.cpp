// The protocol on a small trace that was made up for it.
#include "simulator/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulator/runs.h"
#include "trace_files.h"

namespace divvy::simulator {
namespace {

using engine::Policy;

std::vector<OpenbNode> someNodes() {
  return *parseOpenbNodes(contentsOf(besideTests("data/nodes.csv")), "nodes.csv");
}
std::vector<OpenbPod> somePods() {
  return *parseOpenbPods(contentsOf(besideTests("data/pods.csv")), "pods.csv");
}

std::int64_t demandOf(const std::vector<OpenbPod>& pods, const std::vector<std::uint32_t>& order) {
  std::int64_t demand = 0;
  for (const std::uint32_t pod : order)
    demand += std::int64_t{pods[pod].gpus} * pods[pod].gpu_milli;
  return demand;
}

OpenbPod pod(const std::string& name, std::uint32_t gpus, std::int32_t milli,
             const std::string& models = "") {
  return {name, 1000, 1024, gpus, milli, models};
}

TEST(Arrivals, FirstPass_EachPodOnce) {
  const std::vector<OpenbPod> pods = somePods();
  const std::vector<std::uint32_t> order = arrivals(pods, 3, 57'000, 42);
  ASSERT_GT(order.size(), pods.size());
  const std::set<std::uint32_t> first(order.begin(),
                                      order.begin() + static_cast<long>(pods.size()));
  EXPECT_EQ(first.size(), pods.size());
  EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + static_cast<long>(pods.size())));
}

TEST(Arrivals, TunedDemand_IsMet) {
  const std::vector<OpenbPod> pods = somePods();
  for (const double tune : {0.3, 0.8, 1.3, 2.5}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto demand = static_cast<double>(demandOf(pods, arrivals(pods, tune, 57'000, seed)));
      // The last one is added whole, or left out whole.
      EXPECT_LE(demand, tune * 57'000 + 7'000);
      EXPECT_GE(demand, tune * 57'000 - 8'000);
    }
  }
}

TEST(Arrivals, Order_DependsOnSeedNotFile) {
  std::vector<OpenbPod> pods = somePods();
  const auto names = [&](std::uint64_t seed) {
    std::vector<std::string> result;
    for (const std::uint32_t i : arrivals(pods, 1.3, 57'000, seed)) result.push_back(pods[i].name);
    return result;
  };
  const auto before = names(1);
  EXPECT_NE(before, names(2));
  std::reverse(pods.begin(), pods.end());
  EXPECT_EQ(before, names(1));
}

TEST(TypicalPods, FrequentPods_UpTo95Percent) {
  std::vector<OpenbPod> pods;
  const auto add = [&](int times, const OpenbPod& one) {
    for (int i = 0; i < times; ++i) pods.push_back(one);
  };
  add(60, pod("a", 1, 1000));
  add(34, pod("b", 1, 500, "T4|G2"));
  add(3, pod("c", 2, 1000));
  add(2, pod("d", 0, 0));
  add(1, pod("e", 1, 300));
  const engine::Target target = typicalPods(pods);
  ASSERT_EQ(target.size(), 3u);
  EXPECT_EQ(target[0].weight, 60u);
  EXPECT_EQ(target[1].compute.milli, 500);
  EXPECT_EQ(target[1].models.size(), 2u);
  EXPECT_EQ(target[2].count, 2u);
}

TEST(Protocol, ArrivedAndGiven_AreCounted) {
  // Two GPUs, four requests for a whole one: all of it is given from 100 percent on.
  const std::vector<OpenbNode> nodes{{"n", 64'000, 65'536, 2, "T4"}};
  const std::vector<OpenbPod> pods{pod("a", 1, 1000), pod("b", 1, 1000)};
  Protocol protocol;
  protocol.tune = 2;
  for (const Policy policy : engine::kPolicies) {
    protocol.policy = policy;
    const Result<RunResult> run = runProtocol(nodes, pods, protocol);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->pods, 4u);
    EXPECT_EQ(run->failed_pods, 2u);
    EXPECT_EQ(run->failed_gpus, 2);
    EXPECT_EQ(run->curve.allocated[50], 50);
    EXPECT_EQ(run->curve.allocated[51], 50);
    EXPECT_EQ(run->curve.allocated[99], 100);
    EXPECT_EQ(run->curve.allocated[100], 100);
    EXPECT_EQ(run->curve.fragment_amount[50], 0);
  }
}

TEST(Protocol, UnusableGpus_AreFragments) {
  // Only the G2 can be used by what is asked for: of four idle GPUs the two others are fragments.
  const std::vector<OpenbNode> nodes{{"n", 64'000, 65'536, 2, "T4"},
                                     {"m", 64'000, 65'536, 2, "G2"}};
  std::vector<OpenbPod> pods;
  for (const char* name : {"a", "b"}) pods.push_back(pod(name, 1, 1000, "G2"));
  Protocol protocol;
  protocol.tune = 0.5;
  const Result<RunResult> run = runProtocol(nodes, pods, protocol);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->curve.allocated[50], 50);
  EXPECT_EQ(run->curve.fragment_amount[25], 50);
  EXPECT_NEAR(run->curve.fragment_ratio[25], 66.67, 0.01);
  EXPECT_EQ(run->curve.fragment_ratio[50], 100);
}

TEST(Protocol, NoGpus_IsRefused) {
  const Result<RunResult> run = runProtocol({{"n", 1, 1, 0, ""}}, somePods(), {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message(), "no node has a GPU; accepted: at least one");
}

Runs someRuns() {
  Runs runs;
  runs.nodes = someNodes();
  runs.workloads.push_back({"made-up", somePods()});
  runs.policies.assign(engine::kPublished.begin(), engine::kPublished.end());
  runs.policies.push_back(Policy::kDivvy);
  runs.seeds = {42, 43, 44};
  return runs;
}

TEST(Runs, AnyThreadCount_SameResult) {
  const Runs runs = someRuns();
  std::size_t last = 0;
  const auto one = runAll(runs, 1, [&](std::size_t done, std::size_t all) {
    EXPECT_LE(last, done);
    EXPECT_EQ(all, 21u);
    last = done;
  });
  const auto three = runAll(runs, 3, [](std::size_t, std::size_t) {});
  ASSERT_TRUE(one && three);
  EXPECT_EQ(last, 21u);
  EXPECT_EQ(json(runs, *one), json(runs, *three));
}

TEST(Runs, FirstError_EndsAll) {
  Runs runs = someRuns();
  runs.nodes = {{"n", 1, 1, 0, ""}};
  EXPECT_FALSE(runAll(runs, 2, [](std::size_t, std::size_t) {}));
}

// Any change of what is decided shows here; on the made-up trace it says nothing about what is
// good.
TEST(Runs, MadeUpTrace_MeansUnchanged) {
  const Runs runs = someRuns();
  const auto outcomes = runAll(runs, 2, [](std::size_t, std::size_t) {});
  ASSERT_TRUE(outcomes);
  std::string actual;
  for (const WorkloadResult& one : *outcomes) {
    char line[64];
    std::snprintf(line, sizeof line, "%s %.3f\n", std::string(nameOf(one.policy)).c_str(),
                  one.mean);
    actual += line;
  }
  EXPECT_EQ(actual,
            "random 86.199\ndotprod 92.485\nclustering 93.257\npacking 93.906\nbestfit 92.298\n"
            "fgd 94.637\ndivvy 94.637\n");
}

TEST(Runs, SampleOfNodes_NearFullResult) {
  // Of 300 nodes 100 are looked at at a time: another choice, and no worse than by chance.
  Runs runs;
  for (int i = 0; i < 300; ++i)
    runs.nodes.push_back({"n" + std::to_string(i), 64'000, 65'536, 4, "T4"});
  runs.workloads.push_back({"made-up", somePods()});
  runs.policies = {Policy::kBestFit};
  runs.seeds = {42};
  const auto all = runAll(runs, 1, [](std::size_t, std::size_t) {});
  runs.sample_percent = 1;
  const auto some = runAll(runs, 1, [](std::size_t, std::size_t) {});
  ASSERT_TRUE(all && some);
  EXPECT_NE(all->front().curve.fragment_amount, some->front().curve.fragment_amount);
  EXPECT_NEAR(some->front().mean, all->front().mean, 2);
}

}  // namespace
}  // namespace divvy::simulator
