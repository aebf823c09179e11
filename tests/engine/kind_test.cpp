// Nodes with devices of several vendors, and requests for several of them.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "some.h"

namespace divvy::engine {
namespace {

const DeviceKind kNvidia("NVIDIA");
const DeviceKind kAscend("Ascend910B4");

// Two of each, and one that nobody named.
Node mixedNode() {
  Node node = some::node("n", 5);
  node.devices[0].kind = node.devices[1].kind = kNvidia;
  node.devices[2].kind = node.devices[3].kind = kAscend;
  return node;
}

Request asking(const std::string& id, const DeviceKind& kind, unsigned count) {
  Request request = some::request(id, count, 1000);
  request.shape.containers[0].devices.kind = kind;
  return request;
}

class Kinds : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(engine_.setNode(mixedNode())); }
  Engine engine_{Config{}};
};

TEST_F(Kinds, RequestOfOneKind_DevicesOfThatKindOnly) {
  const auto given = engine_.place(asking("a", kAscend, 2), Instant{1});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->placement.charges[0].uuid.text, "n/2");
  EXPECT_EQ(given->placement.charges[1].uuid.text, "n/3");
  const auto refused = engine_.explain(asking("b", kAscend, 1));
  ASSERT_TRUE(refused);
  ASSERT_FALSE(refused->fits());
  const NodeRefusal& node = refused->refusals.at(0);
  EXPECT_EQ(text(node), "container 0 needs 1 device of kind Ascend910B4, 0 fit");
  EXPECT_EQ(node.kind, kAscend);
  ASSERT_EQ(node.devices.size(), 5u);
  EXPECT_EQ(node.devices[0].why, DeviceWhy::kKind);
  EXPECT_EQ(text(node.devices[0]), "another kind of device was asked for");
  EXPECT_EQ(node.devices[2].why, DeviceWhy::kCompute);
}

// One name is not part of another: the incumbent gives an Ascend910B4 out for an Ascend910B.
TEST_F(Kinds, PartialOrOtherCaseName_NoMatch) {
  EXPECT_FALSE(engine_.decide(asking("a", DeviceKind("Ascend910B"), 1))->fits());
  EXPECT_FALSE(engine_.decide(asking("a", DeviceKind("nvidia"), 1))->fits());
}

TEST_F(Kinds, NoKindRequested_AnyDevice) {
  EXPECT_TRUE(engine_.decide(some::request("a", 5, 1000))->fits());
}

TEST_F(Kinds, TwoKindsInOneContainer_BothPlaced) {
  Request request = asking("a", kNvidia, 1);
  request.shape.containers[0].others.push_back({2, gib(1), {500}, kAscend});
  const auto given = engine_.place(request, Instant{1});
  ASSERT_TRUE(given);
  const std::vector<Share>& shares = given->placement.containers.at(0);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].uuid.text, "n/0");
  EXPECT_EQ(shares[0].compute, kWholeDevice);
  EXPECT_EQ(shares[1].uuid.text, "n/2");
  EXPECT_EQ(shares[2].uuid.text, "n/3");
  EXPECT_EQ(shares[2].memory, gib(1));
}

TEST_F(Kinds, KindAddedLater_RequestFits) {
  const Request request = asking("a", DeviceKind("DCU"), 1);
  EXPECT_FALSE(engine_.decide(request)->fits());
  Node late = some::node("m", 1);
  late.devices[0].kind = DeviceKind("DCU");
  ASSERT_TRUE(engine_.setNode(late));
  EXPECT_EQ(engine_.decide(request)->placement->node.text, "m");
}

TEST_F(Kinds, SelectorPerKind_AppliedToThatKind) {
  Request request = asking("a", kNvidia, 1);
  request.shape.containers[0].others.push_back({1, {}, {}, kAscend});
  request.shape.by_kind.push_back({kAscend, {}});
  request.shape.by_kind[0].selector.uuids.emplace_back("n/3");
  const auto given = engine_.decide(request);
  ASSERT_TRUE(given->fits());
  EXPECT_EQ(given->placement->charges[0].uuid.text, "n/0");
  EXPECT_EQ(given->placement->charges[1].uuid.text, "n/3");
}

// What was decided elsewhere is held to the kind, too.
TEST_F(Kinds, ReserveOfOtherKind_Refused) {
  const auto decided = engine_.decide(asking("a", kNvidia, 1));
  ASSERT_TRUE(decided->fits());
  Placement other = *decided->placement;
  other.containers[0][0].uuid = other.charges[0].uuid = DeviceUuid("n/2");
  EXPECT_FALSE(engine_.reserve(asking("a", kNvidia, 1), other, Instant{1}));
  other.containers[0][0].uuid = other.charges[0].uuid = DeviceUuid("n/1");
  EXPECT_TRUE(engine_.reserve(asking("a", kNvidia, 1), other, Instant{1}));
}

TEST_F(Kinds, InvalidKinds_Refused) {
  Request twice = asking("a", kNvidia, 1);
  twice.shape.containers[0].others.push_back({1, {}, {}, kNvidia});
  EXPECT_EQ(engine_.decide(twice).error().message(),
            "container 0: devices of kind NVIDIA twice; accepted: once");
  Request nameless = some::request("a", 1, 100);
  nameless.shape.containers[0].others.push_back({1, {}, {}, kNvidia});
  EXPECT_EQ(engine_.decide(nameless).error().message(),
            "container 0: devices of several kinds, one of them without its name");
  Request chosen = asking("a", kNvidia, 1);
  chosen.shape.by_kind = {{kNvidia, {}}, {kNvidia, {}}};
  EXPECT_FALSE(engine_.decide(chosen));
}

TEST_F(Kinds, Suggestion_NamesKind) {
  Request request = asking("a", kNvidia, 1);
  request.shape.containers[0].others.push_back({1, gib(90), {}, kAscend});
  const auto remedies = engine_.remedies(request, NodeName("n"));
  ASSERT_TRUE(remedies);
  ASSERT_EQ(remedies->size(), 1u);
  EXPECT_EQ(text((*remedies)[0]),
            "ask for 80 GiB instead of 90 GiB of device memory (Ascend910B4) in container 0");
}

}  // namespace
}  // namespace divvy::engine
