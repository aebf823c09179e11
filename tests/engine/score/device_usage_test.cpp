// Nodes by how much of them is used: binpack, spread, weighted.
#include <gtest/gtest.h>

#include <cmath>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

// Used shares of what a machine has, averaged by weights; the request included. Below 0: of the
// rest.
double usedOf(const brute::Machine& machine, const Shape& shape, const Weights& weights) {
  const Container& one = shape.containers[0];
  const std::int64_t count = one.devices.count;
  double compute = 0, compute_used = static_cast<double>(count * one.devices.compute.milli);
  const auto bytes = static_cast<std::int64_t>(std::get<Bytes>(one.devices.memory).count);
  double memory = 0, memory_used = static_cast<double>(count * bytes);
  for (const brute::Card& card : machine.cards) {
    if (card.is.health != Health::kHealthy || card.is.cordoned) continue;
    if (card.is.mode == Mode::kExternal || card.is.mode == Mode::kMig) continue;
    compute += card.is.compute.milli;
    compute_used += static_cast<double>(card.compute);
    memory += static_cast<double>(card.is.memory.count);
    for (const Charge& charge : card.charges)
      memory_used += static_cast<double>(charge.memory.count);
  }
  double sum = 0, all = 0;
  const auto add = [&](std::int32_t weight, double used, double there) {
    if (there <= 0) return;
    sum += std::abs(weight) * (weight < 0 ? 1 - used / there : used / there);
    all += std::abs(weight);
  };
  add(weights.cpu, static_cast<double>(machine.cpu + one.cpu.milli),
      static_cast<double>(machine.is.cpu.milli));
  add(weights.memory,
      static_cast<double>(machine.memory + static_cast<std::int64_t>(one.memory.count)),
      static_cast<double>(machine.is.memory.count));
  add(weights.compute, compute_used, compute);
  add(weights.device_memory, memory_used, memory);
  return all == 0 ? 0 : sum / all;
}

void expectBest(Config config, const Weights& weights) {
  Rng rng(41);
  unsigned compared = 0;
  for (unsigned cluster = 0; cluster < 100; ++cluster) {
    some::Wild wild{rng, false};
    Engine engine(config);
    brute::World world;
    for (int i = 0; i < 5; ++i) {
      const Node node = wild.node("n" + std::to_string(i));
      ASSERT_TRUE(engine.setNode(node));
      world.add(node);
    }
    for (unsigned i = 0; i < 20; ++i) {
      Request request = wild.request("r" + std::to_string(i));
      request.shape.containers[0].devices.memory = mib(512 * rng.below(10));
      const Result<Decision> decision = engine.decide(request);
      ASSERT_TRUE(decision);
      if (!decision->fits()) continue;
      double best = -1;
      for (const auto& [name, machine] : world.machines())
        if (!world.refusal(machine, request.shape))
          best = std::max(best, usedOf(machine, request.shape, weights));
      const std::string& taken = decision->placement->node.text;
      const double value = usedOf(world.machines().at(taken), request.shape, weights);
      ASSERT_GE(value, best - 5e-6) << cluster << "/" << i << " on " << taken;
      ASSERT_NEAR(decision->placement->score, 100 * value, 1.001);
      ASSERT_TRUE(engine.place(request, Instant{1}));
      world.book(*decision->placement, 1);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500u);
}

TEST(DeviceUsageScore, Binpack_MostUsedNode) {
  expectBest(Config{Policy::kBinpack}, {1, 1, 1, 1, 0, 0});
}

TEST(DeviceUsageScore, Spread_LeastUsedNode) {
  expectBest(Config{Policy::kSpread}, {-1, -1, -1, -1, 0, 0});
}

TEST(DeviceUsageScore, Weighted_NodeBestByWeights) {
  Config config{Policy::kWeighted};
  config.weights = {3, -2, 0, 7, 0, 0};
  expectBest(config, config.weights);
}

TEST(DeviceUsageScore, FragmentAndLinkWeights_DecideNode) {
  Config config{Policy::kWeighted};
  config.weights = {0, 0, 0, 0, 0, 1};
  Engine engine(config);
  Node plain = some::node("a", 2);
  Node linked = some::node("b", 2);
  linked.links.push_back({linked.devices[0].uuid, linked.devices[1].uuid, 1, true});
  for (const std::uint64_t order : {1u, 3u}) {
    plain.order = order;
    linked.order = 2;
    ASSERT_TRUE(engine.setNode(plain));
    ASSERT_TRUE(engine.setNode(linked));
    EXPECT_EQ(engine.decide(some::request("r", 2, 1000))->placement->node.text, "b");
  }
  config.weights = {0, 0, 0, 0, 1, 0};
  Engine whole(config);
  ASSERT_TRUE(whole.setTarget({{{1000}, {1000}, 1, {}, 1}}));
  ASSERT_TRUE(whole.setNode(some::node("a", 1)));
  ASSERT_TRUE(whole.setNode(some::node("b", 1)));
  const auto first = whole.place(some::request("x", 1, 500), Instant{1});
  ASSERT_TRUE(first);
  EXPECT_EQ(whole.decide(some::request("y", 1, 400))->placement->node, first->placement.node);
}

TEST(DeviceUsageScore, ZeroOrTooLargeWeights_Refused) {
  Engine engine{Config{}};
  Request request = some::request("r", 1, 100);
  request.shape.weights = Weights{0, 0, 0, 0, 0, 0};
  EXPECT_EQ(engine.decide(request).error().code(), ErrorCode::kUsage);
  request.shape.weights = Weights{0, 0, 0, 0, 0, kMaxWeight + 1};
  EXPECT_EQ(engine.decide(request).error().code(), ErrorCode::kUsage);
  request.shape.weights.reset();
  request.shape.devices.emplace();
  request.shape.devices->use = {0, 0, 0};
  EXPECT_EQ(engine.decide(request).error().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace divvy::engine
