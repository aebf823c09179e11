// What somebody has becomes more or less, where it is.
#include <gtest/gtest.h>

#include "some.h"

namespace divvy::engine {
namespace {

// The same placement with other amounts, of all its devices.
Placement with(Placement placement, Bytes memory, int compute) {
  for (auto& shares : placement.containers)
    for (Share& one : shares) one.memory = memory, one.compute = {compute};
  for (Charge& one : placement.charges) one.memory = memory, one.compute = {compute};
  return placement;
}

TEST(Resize, LargerAmounts_OnlyWhereRoomElseUnchanged) {
  Engine engine(Config{Policy::kDivvy, 0});
  Node node = some::node("n", 1);
  node.devices[0].memory = gib(16);
  ASSERT_TRUE(engine.setNode(node));
  const Result<Allocation> a = engine.place(some::request("a", 1, 300, gib(4)), Instant{10});
  const Result<Allocation> b = engine.place(some::request("b", 1, 300, gib(4)), Instant{10});
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(engine.confirm(RequestId("a")));
  EXPECT_TRUE(engine.resize(RequestId("a"), with(a->placement, gib(12), 700)));
  EXPECT_EQ(engine.usage().used, 1000);
  const std::vector<Allocation> before = engine.allocations();
  for (const Placement& more :
       {with(b->placement, gib(5), 300), with(b->placement, gib(4), 400),
        with(b->placement, gib(4), 1000), with(a->placement, gib(12), 1000)}) {
    const bool of_a = more.charges[0].memory == gib(12);
    const Result<void> no = engine.resize(RequestId(of_a ? "a" : "b"), more);
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code(), ErrorCode::kNoRoom);
    EXPECT_EQ(engine.allocations(), before);
    EXPECT_EQ(engine.usage().used, 1000);
  }
  EXPECT_EQ(engine.resize(RequestId("c"), a->placement).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(engine.resize(RequestId("b"), with(b->placement, gib(1), 100)));
  EXPECT_EQ(engine.usage().used, 800);
}

// A device that shrank has less than was promised of it: who gives some back may.
TEST(Resize, SmallerOnShrunkDevice_AlwaysAccepted) {
  Engine engine(Config{Policy::kDivvy, 0});
  Node node = some::node("n", 1);
  node.devices[0].memory = gib(16);
  ASSERT_TRUE(engine.setNode(node));
  const Result<Allocation> a = engine.place(some::request("a", 1, 500, gib(12)), Instant{10});
  ASSERT_TRUE(a);
  node.devices[0].memory = gib(8);
  ASSERT_TRUE(engine.setNode(node));
  EXPECT_TRUE(engine.resize(RequestId("a"), with(a->placement, gib(10), 500)));
  EXPECT_FALSE(engine.resize(RequestId("a"), with(a->placement, gib(11), 500)));
}

// However it came to be, it is as if it had been so from the start.
TEST(Resize, RandomResizes_SameAsPlacedFromStart) {
  Rng rng(20261124);
  unsigned grown = 0, refused = 0;
  for (int round = 0; round < 200; ++round) {
    Engine engine(Config{Policy::kDivvy, 0});
    ASSERT_TRUE(engine.setNode(some::node("n", 2)));
    std::vector<RequestId> ids;
    for (int i = 0; i < 6; ++i) {
      const std::string name = "r" + std::to_string(i);
      const int compute = 50 + static_cast<int>(rng.below(4)) * 100;
      if (engine.place(some::request(name, 1, compute, gib(1)), Instant{10}))
        ids.emplace_back(name);
    }
    for (int i = 0; i < 12 && !ids.empty(); ++i) {
      const RequestId& id = ids[rng.below(ids.size())];
      const Placement has = engine.find(id)->placement;
      const auto result = engine.resize(
          id, with(has, gib(1 + rng.below(4)), 50 + static_cast<int>(rng.below(7)) * 100));
      ++(result ? grown : refused);
    }
    Engine fresh(Config{Policy::kDivvy, 0});
    ASSERT_TRUE(fresh.setNode(some::node("n", 2)));
    for (const Allocation& one : engine.allocations()) ASSERT_TRUE(fresh.adopt(one));
    EXPECT_EQ(fresh.usage().used, engine.usage().used);
    EXPECT_EQ(fresh.usage().fragmented, engine.usage().fragmented);
    for (int compute = 50; compute <= 1000; compute += 50) {
      const Request next = some::request("next", 1, compute, gib(1));
      EXPECT_EQ(fresh.decide(next)->fits(), engine.decide(next)->fits()) << round << ' ' << compute;
    }
  }
  EXPECT_GT(grown, 500u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace divvy::engine
