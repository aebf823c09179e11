// Which of several nodes, and which of their devices, where nodes tell how devices of a kind do
// together. U9 and U16 are what HAMi's own tests pin.
#include <gtest/gtest.h>

#include "fit/node_score.h"
#include "score/policies.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr Bytes kCard = mib(8000);
const DeviceKind kKind("k");

Node cards(const std::string& name, unsigned count) {
  Node node = some::node(name, count);
  for (Device& device : node.devices) {
    device.memory = kCard;
    device.slots = 1;
    device.kind = kKind;
  }
  return node;
}

// Two wings of four, linked within and each to its counterpart.
Node winged(const std::string& name) {
  Node node = cards(name, 8);
  for (unsigned a = 0; a < 8; ++a)
    for (unsigned b = a + 1; b < 8; ++b)
      if (a / 4 == b / 4 || a % 4 == b % 4)
        node.links.push_back({node.devices[a].uuid, node.devices[b].uuid, 100});
  node.merits = {{kKind, {}, {}, {{{0, 1, 2, 3}}, {{4, 5, 6, 7}}}}};
  return node;
}

// Who has these, and of each so much.
Placement used(const Node& node, DeviceSet devices, Compute compute = kWholeDevice,
               Bytes memory = kCard) {
  Placement placement;
  placement.node = node.name;
  for (; devices != 0; devices &= devices - 1)
    placement.charges.push_back(
        {node.devices[firstOf(devices)].uuid, memory, compute, 1, {}, {}, memory});
  return placement;
}

Request whole(unsigned containers, std::uint32_t count) {
  Request request = some::request("r", count, 1000, kCard);
  request.shape.containers[0].devices.kind = kKind;
  for (unsigned i = 1; i < containers; ++i)
    request.shape.containers.push_back(request.shape.containers[0]);
  return request;
}

Config config(Policy policy, Compat compat) {
  Config config;
  config.policy = policy;
  config.compat = compat;
  return config;
}

// HAMi's score of the node for it, in millionths.
std::int64_t hamiScore(const Node& node, const std::vector<Placement>& all, const Request& request,
                       Policy policy = Policy::kBinpack) {
  HotState state;
  FragmentTable fragments;
  const Slot slot = state.put(node);
  for (const Placement& one : all) state.charge(slot, one, 1);
  ShapeClass shape(request.shape, config(policy, Compat::kHami));
  shape.learn(state.models());
  SearchBudget budget;
  SearchPass pass(budget);
  return Scorer::hamiScoreOf(shape, Scorer(state, fragments).key(shape, slot, pass).key);
}

Allocation held(const std::string& id, const Placement& placement) {
  return {RequestId(id), placement, std::nullopt};
}

DeviceSet given(const Decision& decision, const Node& node) {
  DeviceSet devices = 0;
  for (const auto& shares : decision.placement->containers)
    for (const Share& share : shares)
      for (unsigned i = 0; i < node.devices.size(); ++i)
        if (node.devices[i].uuid == share.uuid) devices |= only(i);
  return devices;
}

TEST(NodeScore, KunlunWings_U9HamiScoreByWingsLeft) {
  const Node empty = winged("empty");
  const Node half = winged("half");
  // A wing that is used up: 10 x (4/8 + 0 + 1/8) of all is used.
  const Placement wing = used(half, 0xf, {0}, mib(2000));
  EXPECT_EQ(hamiScore(empty, {}, whole(1, 1)), 0);
  EXPECT_EQ(hamiScore(half, {wing}, whole(1, 1)), 1'006'250'000);
  EXPECT_EQ(hamiScore(empty, {}, whole(2, 1)), 1'000'000'000);
  EXPECT_EQ(hamiScore(half, {wing}, whole(2, 1)), 2'006'250'000);
}

TEST(NodeScore, MetaxLossAndScore_U16HamiScoreByCount) {
  Node node = cards("n", 4);
  node.merits = {{kKind, {{1, 123}, {2, 321}}, {{1, 7}, {2, 42}}, {}}};
  EXPECT_EQ(hamiScore(node, {}, whole(1, 2)), 1'679'000'000);
  EXPECT_EQ(hamiScore(node, {}, whole(2, 1)), 1'679'000'000) << "of all containers";
  EXPECT_EQ(hamiScore(node, {}, whole(1, 2), Policy::kSpread), 1'958'000'000);
  EXPECT_EQ(hamiScore(node, {}, whole(1, 3)), 2'000'000'000) << "of so many it says nothing";
}

TEST(NodeScore, LinkZones_U16ScoredByGainedAndTornPairs) {
  Node node = cards("n", 4);
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = a + 1; b < 4; ++b)
      node.links.push_back({node.devices[a].uuid, node.devices[b].uuid, 100});
  node.merits = {{kKind, {}, {}, {}, true}};
  HotState state;
  const Slot slot = state.put(node);
  const NodeScores merits = nodeScoresOf(state, slot, {0b11, true});
  EXPECT_EQ(hamiLinkPoints(merits, Policy::kBinpack), 600'000);
  EXPECT_EQ(hamiLinkPoints(merits, Policy::kSpread), -600'000);
  EXPECT_FALSE(nodeScoresOf(state, slot, {0b11, false}).pairs) << "nobody asked for links";
  EXPECT_FALSE(nodeScoresOf(state, slot, {0, true}).pairs) << "shares of devices tear nothing";
}

TEST(NodeScore, DevicesOfOneNetwork_TenPoints) {
  Node node = cards("n", 4);
  node.links = {{node.devices[0].uuid, node.devices[1].uuid, 100},
                {node.devices[2].uuid, node.devices[3].uuid, 100}};
  node.merits = {{kKind, {}, {}, {}, false, 10}};
  HotState state;
  const Slot slot = state.put(node);
  EXPECT_EQ(nodeScoresOf(state, slot, {0b0011, true}).together, 10'000'000);
  EXPECT_EQ(nodeScoresOf(state, slot, {0b0101, true}).together, 5'000'000);
  EXPECT_EQ(nodeScoresOf(state, slot, {0b1011, true}).together, 6'666'666);
}

// The engine's own policies: before what is fuller.
TEST(NodeScore, WingedNodes_NodeThatBeginsNoWingChosen) {
  for (const Policy policy : {Policy::kDivvy, Policy::kBinpack, Policy::kSpread, Policy::kFgd}) {
    Engine engine(config(policy, Compat::kNone));
    const Node one_left = winged("one-left"), two_left = winged("two-left");
    ASSERT_TRUE(engine.setNode(one_left) && engine.setNode(two_left));
    ASSERT_TRUE(engine.adopt(held("a", used(one_left, 0b0000'0111))));
    ASSERT_TRUE(engine.adopt(held("b", used(two_left, 0b0011'1111))));
    const Result<Decision> decision = engine.decide(whole(1, 1));
    ASSERT_TRUE(decision && decision->fits());
    EXPECT_EQ(decision->placement->node, one_left.name) << nameOf(policy);
    EXPECT_EQ(given(*decision, one_left), DeviceSet{0b1000}) << nameOf(policy);
    EXPECT_LE(decision->placement->score, 100u) << "merits are no part of it";
  }
}

TEST(NodeScore, NodesWithLoss_SmallestLossChosen) {
  Engine engine(config(Policy::kDivvy, Compat::kNone));
  for (const auto& [name, loss] :
       std::vector<std::pair<std::string, std::uint32_t>>{{"a", 400}, {"b", 120}, {"c", 900}}) {
    Node node = cards(name, 4);
    node.merits = {{kKind, {{2, loss}}, {}, {}}};
    ASSERT_TRUE(engine.setNode(node));
  }
  const Result<Decision> decision = engine.decide(whole(1, 2));
  ASSERT_TRUE(decision && decision->fits());
  EXPECT_EQ(decision->placement->node.text, "b");
}

// Against all groups: of those that are linked best, one that leaves the wings best.
TEST(NodeScore, WingedDevices_BestOfAllGroups) {
  for (DeviceSet busy = 0; busy < 256; ++busy) {
    for (unsigned count = 1; count <= 4 && count <= 8 - sizeOf(busy); ++count) {
      Engine engine{Config()};
      const Node node = winged("n");
      const Topology topology(node);
      ASSERT_TRUE(engine.setNode(node));
      if (busy != 0) {
        ASSERT_TRUE(engine.adopt(held("a", used(node, busy))));
      }
      Request request = whole(1, count);
      if (count > 1) request.shape.devices = parseDevicePolicy("topology-aware").value();
      const Result<Decision> decision = engine.decide(request);
      ASSERT_TRUE(decision && decision->fits());
      const auto worth = [&](DeviceSet group) {
        unsigned links = 0;
        for (DeviceSet left = group; left != 0; left &= left - 1)
          links += sizeOf(topology.direct(firstOf(left)) & group) - 1;
        const std::int64_t bubbles = bubblesOf(node.merits[0].wings, busy | group);
        return std::pair(count > 1 ? links : 0, -bubbles);
      };
      const DeviceSet got = given(*decision, node);
      EXPECT_EQ(got & busy, DeviceSet{0});
      EXPECT_EQ(sizeOf(got), count);
      for (DeviceSet group = 1; group < 256; ++group) {
        if (sizeOf(group) != count || (group & busy) != 0) continue;
        ASSERT_LE(worth(group), worth(got)) << "busy " << busy << ", " << group << " over " << got;
      }
    }
  }
}

TEST(NodeScore, InvalidWings_NodeRefused) {
  Engine engine{Config()};
  Node node = winged("n");
  node.merits[0].wings[1].places = {4, 5, 6, 8};
  EXPECT_FALSE(engine.setNode(node));
  node.merits[0].wings[1].places = {0, 5, 6, 7};
  EXPECT_FALSE(engine.setNode(node)) << "in two wings";
  node.merits = {{kKind, {}, {}, {}}, {kKind, {}, {}, {}}};
  EXPECT_FALSE(engine.setNode(node)) << "one kind twice";
}

}  // namespace
}  // namespace divvy::engine
