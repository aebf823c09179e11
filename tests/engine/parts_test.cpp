// The engine's parts: the tree of winners, fragmentation, texts, requests of several containers.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "fit/fragment.h"
#include "score/tournament_tree.h"
#include "some.h"

namespace divvy::engine {
namespace {

TEST(TournamentTree, RandomUpdates_FirstOfLargestWins) {
  Rng rng(2);
  for (const std::size_t size : {1, 2, 15, 16, 17, 100, 256, 257, 5000}) {
    std::vector<std::uint32_t> values(size);
    TournamentTree tree;
    tree.build(values);
    for (int i = 0; i < 500; ++i) {
      const std::size_t at = rng.below(size);
      values[at] = static_cast<std::uint32_t>(rng.below(4));
      tree.set(at, values[at]);
      const auto best = std::max_element(values.begin(), values.end());
      ASSERT_EQ(tree.best(), *best);
      if (*best == 0) continue;
      ASSERT_EQ(tree.winner(), static_cast<std::size_t>(best - values.begin()));
    }
  }
}

// By hand: 3 of 4 requests want half a device and one core, 1 of 4 only cores.
TEST(FragmentTable, IdleDevices_WeightedByExpectedRequests) {
  FragmentTable table;
  table.setTarget({{{1000}, {500}, 1, {}, 3}, {{1000}, {0}, 0, {}, 1}});
  table.addModel(ModelName("T4"));
  EXPECT_EQ(table.weight(), 4);
  const std::int32_t idle[] = {1000, 300};
  // Half-device requests cannot use the 300; the others none of 1300.
  EXPECT_EQ(table.weighted({1000, idle, 2}, 0, nullptr), 3 * 300 + 1300);
  // Without the core nobody can use anything.
  EXPECT_EQ(table.weighted({999, idle, 2}, 0, nullptr), 4 * 1300);
  const std::int32_t full[] = {0, 0};
  EXPECT_EQ(table.weighted({1000, full, 2}, 0, nullptr), 0);
}

TEST(FragmentTable, Score_FloorOfSigmoid) {
  FragmentTable table;
  table.setTarget({{{0}, {1000}, 1, {}, 10}});
  EXPECT_EQ(table.score(0, 0), 50u);
  EXPECT_EQ(table.score(0, 1), 49u);  // a ten-thousandth worse
  EXPECT_EQ(table.score(1, 0), 50u);
  EXPECT_EQ(table.score(10'000, 0), 73u);  // sigmoid(1) = 0.7310
  EXPECT_EQ(table.score(0, 10'000), 26u);  // 0.2689
  EXPECT_EQ(table.score(80'000, 0), 99u);
  EXPECT_EQ(table.score(0, 80'000), 0u);
}

TEST(PlacementPolicy, Names_ParsedBothWays) {
  for (const Policy policy : kPolicies) EXPECT_EQ(*parsePolicy(nameOf(policy)), policy);
  const Result<Policy> wrong = parsePolicy("fdg");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(),
            "policy \"fdg\"; accepted: random, dotprod, clustering, packing, bestfit, fgd, divvy, "
            "binpack, spread, weighted");
}

TEST(PlacementPolicy, Clustering_NodeOfSameRequestsFirst) {
  Engine engine(Config{Policy::kClustering, 0});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(engine.setNode(some::node(name, 4)));
  const NodeName whole = engine.place(some::request("1", 1, 1000), Instant{1})->placement.node;
  const NodeName part = engine.place(some::request("2", 1, 400), Instant{1})->placement.node;
  EXPECT_NE(whole, part);
  EXPECT_EQ(engine.place(some::request("3", 1, 1000), Instant{1})->placement.node, whole);
  EXPECT_EQ(engine.place(some::request("4", 1, 800), Instant{1})->placement.node, part);
  EXPECT_NE(engine.place(some::request("5", 2, 1000), Instant{1})->placement.node, whole);
}

TEST(PlacementPolicy, Packing_DevicesInUseFirst) {
  Engine engine(Config{Policy::kPacking, 0});
  for (const char* name : {"a", "b"}) ASSERT_TRUE(engine.setNode(some::node(name, 4)));
  const Placement first = engine.place(some::request("1", 1, 400), Instant{1})->placement;
  const Placement second = engine.place(some::request("2", 1, 500), Instant{1})->placement;
  EXPECT_EQ(second.charges[0].uuid, first.charges[0].uuid);
  EXPECT_EQ(second.score, 94u);  // 100 less a tenth of 60 percent
  const Placement third = engine.place(some::request("3", 2, 1000), Instant{1})->placement;
  EXPECT_EQ(third.node, first.node);
  EXPECT_EQ(third.score, 48u);
}

TEST(PlacementPolicy, Random_AllFittingDevicesUsed) {
  Engine engine(Config{Policy::kRandom, 9});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(engine.setNode(some::node(name, 2)));
  std::map<DeviceUuid, int> seen;
  for (int i = 0; i < 600; ++i) {
    ++seen[engine.decide(some::request(std::to_string(i), 1, 100))->placement->charges[0].uuid];
  }
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [uuid, times] : seen) EXPECT_NEAR(times, 100, 45) << uuid.text;
}

// Greedy choices would put the small one where only the large one fits.
TEST(ContainerPlacement, TwoContainers_BothFitWhereGreedyFails) {
  Engine engine(Config{});
  Node node = some::node("n", 2);
  node.devices[1].memory = gib(10);
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 1, 500, gib(10));
  request.shape.containers.push_back({{0}, {}, {1, gib(75), {600}}});
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision);
  ASSERT_TRUE(decision->fits());
  EXPECT_EQ(decision->placement->containers[0][0].uuid.text, "n/1");
  EXPECT_EQ(decision->placement->containers[1][0].uuid.text, "n/0");
}

TEST(ContainerPlacement, InitContainers_OnlyMaximumCharged) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(some::node("n", 2)));
  Request request = some::request("r", 1, 300, gib(20));
  request.shape.init.push_back({{4000}, {}, {1, gib(60), {200}}});
  request.shape.init.push_back({{2000}, {}, {1, gib(30), {700}}});
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  ASSERT_EQ(decision->placement->charges.size(), 1u);
  EXPECT_EQ(decision->placement->charges[0].memory, gib(60));
  EXPECT_EQ(decision->placement->charges[0].compute.milli, 700);
  EXPECT_EQ(decision->placement->charges[0].slots, 1u);
  EXPECT_EQ(decision->placement->cpu.milli, 4000);
  ASSERT_EQ(decision->placement->containers.size(), 3u);
}

// A sidecar goes on: beside the init containers after it, and beside the containers.
TEST(ContainerPlacement, Sidecars_ChargedBesideAllAfterThem) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(some::node("n", 1)));
  Request request = some::request("r", 1, 300, gib(20));
  request.shape.init.push_back({{4000}, {}, {1, gib(70), {200}}});
  request.shape.init.push_back({{3000}, {}, {1, gib(30), {100}}, {}, true});
  request.shape.init.push_back({{2000}, {}, {1, gib(40), {400}}});
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  ASSERT_EQ(decision->placement->charges.size(), 1u);
  const Charge& charge = decision->placement->charges[0];
  EXPECT_EQ(charge.memory, gib(70));     // 70 alone; 30 + 40; 30 + 20
  EXPECT_EQ(charge.compute.milli, 500);  // 200; 100 + 400; 100 + 300
  EXPECT_EQ(charge.slots, 2u);
  EXPECT_EQ(decision->placement->cpu.milli, 5000);
  request.shape.init[2].devices.memory = gib(51);
  EXPECT_FALSE(engine.decide(request)->fits());
  // Before the sidecar there is room for it.
  std::swap(request.shape.init[1], request.shape.init[2]);
  EXPECT_TRUE(engine.decide(request)->fits());
}

// Where the sidecar is put is decided by what comes between it and the end.
TEST(ContainerPlacement, Sidecar_LeavesRoomForLaterInitContainer) {
  Engine engine(Config{});
  Node node = some::node("n", 2);
  node.devices[1].memory = gib(40);
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 1, 0, gib(10));
  request.shape.init.push_back({{}, {}, {1, gib(20), {100}}, {}, true});
  request.shape.init.push_back({{}, {}, {1, gib(70), {100}}});
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  EXPECT_EQ(decision->placement->containers[0][0].uuid.text, "n/1");
  EXPECT_EQ(decision->placement->containers[1][0].uuid.text, "n/0");
}

TEST(ContainerPlacement, SidecarAmongMainContainers_Refused) {
  Request request = some::request("r", 1, 300, gib(20));
  request.shape.containers[0].sidecar = true;
  const Result<bool> possible = Engine(Config{}).possible(request);
  ASSERT_FALSE(possible);
  EXPECT_EQ(possible.error().code(), ErrorCode::kUsage);
}

TEST(Refusal, Text_NeededAndAvailable) {
  EXPECT_EQ(text(DeviceRefusal{DeviceUuid("u"), DeviceWhy::kMemory, gib(4).count, gib(2).count}),
            "needs 4 GiB, 2 GiB free");
  EXPECT_EQ(text(DeviceRefusal{DeviceUuid("u"), DeviceWhy::kCompute, 305, 100}),
            "needs 30.5%, 10% free of its compute");
  NodeRefusal node;
  node.why = NodeWhy::kCpu;
  node.needed = 2500;
  node.available = 1000;
  EXPECT_EQ(text(node), "needs 2.5 cores, 1 core free");
}

}  // namespace
}  // namespace divvy::engine
