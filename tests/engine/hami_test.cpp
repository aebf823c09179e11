// Where it is asked to, the engine scores nodes and devices as HAMi does; each test is a fact that
// HAMi's own tests pin (U) or its code shows.
#include <gtest/gtest.h>

#include "fit/device_order.h"
#include "score/policies.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr Bytes kCard = mib(8000);

Config hami(Policy policy = Policy::kBinpack, const char* devices = "spread") {
  Config config;
  config.policy = policy;
  config.devices = parseDevicePolicy(devices).value();
  config.compat = Compat::kHami;
  return config;
}

Node cards(const std::string& name, unsigned count) {
  Node node = some::node(name, count);
  for (Device& device : node.devices) device.memory = kCard;
  return node;
}

Placement used(const Node& node, std::size_t device, std::uint32_t slots, int compute,
               Bytes memory) {
  Placement placement;
  placement.node = node.name;
  placement.charges = {{node.devices[device].uuid, memory, {compute}, slots, {}, {}, memory}};
  return placement;
}

RankingKey keyOf(const HotState& state, const FragmentTable& fragments, const ShapeClass& shape,
                 Slot slot) {
  SearchBudget budget;
  SearchPass pass(budget);
  return Scorer(state, fragments).key(shape, slot, pass).key;
}

// The node's score, in millionths.
std::int64_t scoreOf(const Node& node, const std::vector<Placement>& all) {
  HotState state;
  FragmentTable fragments;
  const Slot slot = state.put(node);
  for (const Placement& one : all) state.charge(slot, one, 1);
  ShapeClass shape(some::request("r", 1, 10, mib(10)).shape, hami());
  shape.learn(state.models());
  return Scorer::hamiScoreOf(shape, keyOf(state, fragments, shape, slot));
}

// In the order in which they are tried.
std::vector<std::string> tried(const Node& node, const std::vector<Placement>& all,
                               const char* policy) {
  HotState state;
  const Slot slot = state.put(node);
  for (const Placement& one : all) state.charge(slot, one, 1);
  Request request = some::request("r", 1, 10, mib(10));
  request.shape.devices = parseDevicePolicy(policy).value();
  ShapeClass shape(request.shape, hami());
  shape.learn(state.models());
  const Candidates order = candidatesFor(state, shape, shape.containers()[0], slot);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < order.count; ++k)
    names.push_back(node.devices[order.at[k]].uuid.text);
  return names;
}

using Names = std::vector<std::string>;

TEST(HamiScore, UsedDevice_U1TenTimesSumOfShares) {
  const Node node = cards("n", 1);
  EXPECT_EQ(scoreOf(node, {used(node, 0, 5, 500, mib(4000))}), 15'000'000);
}

TEST(HamiScore, IdleDevices_U2CountToo) {
  const Node node = cards("n", 2);
  EXPECT_EQ(scoreOf(node, {used(node, 0, 5, 500, mib(4000))}), 7'500'000);
}

TEST(HamiScore, RequestItself_U3NotCounted) {
  EXPECT_EQ(scoreOf(cards("n", 1), {}), 0);
  EXPECT_EQ(scoreOf(cards("n", 3), {}), 0);
}

TEST(HamiScore, SpreadWithTwoContainers_U4DifferentDevices) {
  Engine engine(hami());
  ASSERT_TRUE(engine.setNode(cards("n", 2)));
  Request request = some::request("r", 1, 0, kCard);
  request.shape.containers.push_back({{0}, {}, {1, mib(1000), {0}}});
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  EXPECT_NE(decision->placement->containers[0][0].uuid, decision->placement->containers[1][0].uuid);
}

TEST(HamiScore, BinpackAndSpread_U5UsedOrIdleNode) {
  for (const Policy policy : {Policy::kBinpack, Policy::kSpread}) {
    Engine engine(hami(policy));
    ASSERT_TRUE(engine.setNode(cards("a", 1)));
    ASSERT_TRUE(engine.setNode(cards("b", 1)));
    ASSERT_TRUE(engine.adopt({RequestId("x"), used(cards("a", 1), 0, 5, 500, mib(4000)), {}}));
    const Result<Decision> decision = engine.decide(some::request("r", 1, 100, mib(100)));
    ASSERT_TRUE(decision && decision->fits());
    EXPECT_EQ(decision->placement->node.text, policy == Policy::kBinpack ? "a" : "b");
    EXPECT_EQ(decision->placement->score, policy == Policy::kBinpack ? 15u : 0u);
  }
}

TEST(HamiScore, ContainersWithoutDevices_U6KeepPlace) {
  Engine engine(hami());
  ASSERT_TRUE(engine.setNode(cards("n", 1)));
  Request request;
  request.shape.containers = {{}, {{0}, {}, {1, mib(1000), {100}}}, {}};
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  ASSERT_EQ(decision->placement->containers.size(), 3u);
  EXPECT_TRUE(decision->placement->containers[0].empty());
  EXPECT_EQ(decision->placement->containers[1].size(), 1u);
  EXPECT_TRUE(decision->placement->containers[2].empty());
}

TEST(HamiScore, InitContainers_U7KeepPlace) {
  Engine engine(hami());
  ASSERT_TRUE(engine.setNode(cards("n", 1)));
  Request request;
  const Container gpu{{0}, {}, {1, mib(1000), {100}}};
  request.shape.init = {{}, gpu};
  request.shape.containers = {gpu};
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  ASSERT_EQ(decision->placement->containers.size(), 3u);
  EXPECT_TRUE(decision->placement->containers[0].empty());
  EXPECT_EQ(decision->placement->containers[1].size(), 1u);
  EXPECT_EQ(decision->placement->containers[2].size(), 1u);
}

TEST(HamiScore, InitContainerFitsNoDevice_U8NodeRefused) {
  Engine engine(hami());
  ASSERT_TRUE(engine.setNode(cards("n", 2)));
  Request request = some::request("r", 1, 100, mib(1000));
  request.shape.init = {{{0}, {}, {1, kCard + Bytes{1}, {100}}}};
  EXPECT_FALSE(engine.decide(request)->fits());
}

TEST(HamiScore, NoneOfOneResource_U10ScoreZero) {
  Node node = cards("n", 1);
  node.devices[0].compute = {0};
  HotState state;
  const Slot slot = state.put(node);
  state.charge(slot, used(node, 0, 5, 0, mib(4000)), 1);
  ShapeClass shape(some::request("r", 0, 0).shape, hami());
  shape.learn(state.models());
  FragmentTable fragments;
  EXPECT_EQ(Scorer::hamiScoreOf(shape, keyOf(state, fragments, shape, slot)), 0);
  Node two = cards("n", 2);
  two.devices[1].slots = 0;
  std::array<DeviceRoom, 2> rooms{};
  rooms[0].memory_total = rooms[1].memory_total = 100;
  rooms[0] = {1000, 10, 100, 100};
  DeviceList list;
  list.count = 2;
  list.at[1] = 1;
  Request request = some::request("r", 1, 0);
  request.shape.devices = parseDevicePolicy("spread").value();
  arrange(ShapeClass(request.shape, hami()), two, rooms.data(), &list);
  EXPECT_EQ(list.at[0], 1) << "equal scores, the last first";
}

TEST(HamiScore, BinpackAmongEquals_U11HigherNumaNodeFirst) {
  Node node = cards("n", 3);
  node.devices[0].numa = 1;
  node.devices[1].numa = node.devices[2].numa = 0;
  EXPECT_EQ(tried(node, {}, "binpack"), (Names{"n/0", "n/2", "n/1"}));
}

TEST(HamiScore, NumaStrict_U12BeforeScore) {
  Node node = cards("n", 2);
  node.devices[0].numa = 0;
  node.devices[1].numa = 1;
  const std::vector<Placement> all{used(node, 1, 9, 900, mib(7200))};  // 27 of 30
  EXPECT_EQ(tried(node, all, "binpack"), (Names{"n/1", "n/0"}));
  EXPECT_EQ(tried(node, all, "numa-strict,binpack"), (Names{"n/0", "n/1"}));
  EXPECT_EQ(tried(node, all, "numa-strict,spread"), (Names{"n/1", "n/0"}));
}

TEST(HamiScore, FiltersWithoutOrder_U13Spread) {
  Request request = some::request("r", 1, 100);
  request.shape.devices = parseDevicePolicy("mutex,topology-aware").value();
  EXPECT_EQ(ShapeClass(request.shape, hami()).devices().order, DeviceOrder::kSpread);
  const Node node = cards("n", 2);
  EXPECT_EQ(tried(node, {used(node, 1, 1, 100, mib(100))}, "topology-aware"),
            (Names{"n/0", "n/1"}));
}

TEST(HamiScore, EqualDevices_U14LastFirst) {
  EXPECT_EQ(tried(cards("n", 2), {}, "binpack"), (Names{"n/1", "n/0"}));
  EXPECT_EQ(tried(cards("n", 2), {}, "spread"), (Names{"n/1", "n/0"}));
}

TEST(HamiScore, BinpackAndSpread_MostOrLeastUsedFirst) {
  const Node node = cards("n", 3);
  const std::vector<Placement> all{used(node, 1, 1, 100, mib(100)),
                                   used(node, 2, 2, 100, mib(100))};
  EXPECT_EQ(tried(node, all, "binpack"), (Names{"n/2", "n/1", "n/0"}));
  EXPECT_EQ(tried(node, all, "spread"), (Names{"n/0", "n/1", "n/2"}));
}

TEST(HamiScore, UseWeights_DecideOrder) {
  const Node node = cards("n", 2);
  HotState state;
  const Slot slot = state.put(node);
  state.charge(slot, used(node, 0, 1, 500, mib(800)), 1);
  state.charge(slot, used(node, 1, 1, 100, mib(2400)), 1);
  const auto first = [&](UseWeights use) {
    Request request = some::request("r", 1, 10, mib(10));
    request.shape.devices = parseDevicePolicy("binpack").value();
    request.shape.devices->use = use;
    ShapeClass shape(request.shape, hami());
    shape.learn(state.models());
    return candidatesFor(state, shape, shape.containers()[0], slot).at[0];
  };
  EXPECT_EQ(first({1, 1, 1}), 0);
  EXPECT_EQ(first({1, 1, 3}), 1);
}

TEST(HamiScore, TopologyAware_LowestSumForOneAndFirstGroupOnTies) {
  Node node = cards("n", 4);
  const auto link = [&](std::size_t a, std::size_t b, std::uint32_t score) {
    node.links.push_back({node.devices[a].uuid, node.devices[b].uuid, score, false});
  };
  link(0, 1, 100);
  link(0, 2, 50);
  link(2, 3, 100);
  Engine engine(hami(Policy::kBinpack, "topology-aware"));
  ASSERT_TRUE(engine.setNode(node));
  const auto on = [&](unsigned count) {
    Names names;
    const Result<Decision> decision = engine.decide(some::request("r", count, 100, mib(10)));
    for (const Share& share : decision->placement->containers[0]) names.push_back(share.uuid.text);
    return names;
  };
  EXPECT_EQ(on(1), (Names{"n/3"})) << "100, as n/1, which is tried later";
  EXPECT_EQ(on(2), (Names{"n/2", "n/3"}));
  EXPECT_EQ(on(3), (Names{"n/0", "n/2", "n/3"})) << "150, as n/0, n/1 and n/2";
}

TEST(HamiScore, MutexDevices_IdleTakenAndShareableLater) {
  Engine engine(hami());
  ASSERT_TRUE(engine.setNode(cards("n", 2)));
  ASSERT_TRUE(engine.place(some::request("a", 1, 100, mib(10)), Instant{1}));
  Request mutex = some::request("b", 2, 100, mib(10));
  mutex.shape.devices = parseDevicePolicy("mutex").value();
  EXPECT_FALSE(engine.decide(mutex)->fits()) << "one of two is idle";
  mutex.shape.containers[0].devices.count = 1;
  const Result<Allocation> given = engine.place(mutex, Instant{1});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->placement.charges[0].slots, 1u);
  EXPECT_TRUE(engine.decide(some::request("c", 2, 100, mib(10)))->fits());
}

}  // namespace
}  // namespace divvy::engine
