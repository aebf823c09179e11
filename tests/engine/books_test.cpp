// Reserving, confirming, giving back; and that asking changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "some.h"

namespace divvy::engine {
namespace {

Engine withNodes(unsigned count, Policy policy = Policy::kDivvy) {
  Engine engine(Config{policy, 0});
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_TRUE(engine.setNode(some::node("n" + std::to_string(i), 2)));
  }
  return engine;
}

TEST(Reservation, SamePlaceAgain_SameAllocation) {
  Engine engine = withNodes(2);
  const Request request = some::request("a", 1, 300);
  const Result<Allocation> first = engine.place(request, Instant{10});
  ASSERT_TRUE(first);
  const Result<Allocation> again = engine.place(request, Instant{99});
  ASSERT_TRUE(again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(engine.usage().used, 300);
  const Result<Allocation> other = engine.place(some::request("a", 1, 500), Instant{10});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(engine.usage().used, 300);
}

TEST(Reservation, NotConfirmed_ExpiresAtItsTime) {
  Engine engine = withNodes(1);
  ASSERT_TRUE(engine.place(some::request("a", 1, 300), Instant{10}));
  ASSERT_TRUE(engine.place(some::request("b", 1, 300), Instant{10}));
  ASSERT_TRUE(engine.confirm(RequestId("b")));
  ASSERT_TRUE(engine.confirm(RequestId("b")));
  EXPECT_TRUE(engine.expire(Instant{9}).empty());
  const std::vector<Allocation> gone = engine.expire(Instant{10});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].id.text, "a");
  EXPECT_TRUE(engine.expire(Instant{1000}).empty());
  EXPECT_EQ(engine.usage().used, 300);
  const Result<void> late = engine.confirm(RequestId("a"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kNotFound);
}

TEST(Reservation, DecidedElsewhere_ReservedOnlyIfStillFits) {
  Engine engine = withNodes(1);
  const Request whole = some::request("whole", 1, 1000);
  const Placement placement = *engine.decide(whole)->placement;
  // Another one comes first, and takes any part of that very device.
  Request other = some::request("other", 1, 0, gib(1));
  other.shape.selector.uuids = {placement.charges[0].uuid};
  ASSERT_TRUE(engine.place(other, Instant{10}));
  const Result<Allocation> late = engine.reserve(whole, placement, Instant{10});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kNoRoom);
  ASSERT_TRUE(engine.release(other.id));
  ASSERT_TRUE(engine.reserve(whole, placement, Instant{10}));
  ASSERT_TRUE(engine.reserve(whole, placement, Instant{10}));
  EXPECT_EQ(engine.usage().used, 1000);
}

TEST(Reservation, NodeSetAgain_AllocationsKept) {
  Engine engine = withNodes(1);
  ASSERT_TRUE(engine.place(some::request("a", 1, 700), Instant{10}));
  Node node = some::node("n0", 2);
  node.devices[0].cordoned = node.devices[1].cordoned = true;
  ASSERT_TRUE(engine.setNode(node));
  EXPECT_EQ(engine.usage().used, 700);
  EXPECT_EQ(engine.usage().idle, 0);
  EXPECT_FALSE(engine.decide(some::request("b", 1, 100))->fits());
  ASSERT_TRUE(engine.setNode(some::node("n0", 2)));
  EXPECT_EQ(engine.usage().idle, 1300);
  const std::vector<Allocation> gone = engine.removeNode(NodeName("n0"));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(engine.usage().capacity, 0);
  EXPECT_EQ(engine.find(RequestId("a")), nullptr);
}

// Who runs there runs there, whatever a device has now.
TEST(Reservation, AdoptAboveCapacity_AcceptedAndCounted) {
  Engine engine = withNodes(1);
  const Result<Allocation> given = engine.place(some::request("a", 1, 700), Instant{10});
  ASSERT_TRUE(given);
  Engine other = withNodes(1);
  ASSERT_TRUE(other.adopt(*given));
  ASSERT_TRUE(other.adopt(*given));
  Allocation same_place = *given;
  same_place.id = RequestId("b");
  ASSERT_TRUE(other.adopt(same_place));
  EXPECT_EQ(other.usage().used, 1400);
  const Result<Decision> next = other.decide(some::request("c", 1, 100));
  ASSERT_TRUE(next && next->fits());
  EXPECT_NE(next->placement->charges[0].uuid, given->placement.charges[0].uuid);
  EXPECT_TRUE(other.release(RequestId("b")));
  same_place.id = RequestId("d");
  same_place.placement.node = NodeName("elsewhere");
  EXPECT_EQ(other.adopt(same_place).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(other.usage().used, 700);
}

TEST(EngineDecision, Explain_ChangesNothing) {
  for (const Policy policy : kPolicies) {
    Engine asked = withNodes(5, policy);
    Engine silent = withNodes(5, policy);
    Rng rng(1);
    some::Wild wild{rng};
    for (int i = 0; i < 200; ++i) {
      for (int k = 0; k < 3; ++k) ASSERT_TRUE(asked.explain(wild.request("x")));
      const Request request = some::request("r" + std::to_string(i), 1, 100 + i % 7 * 100);
      ASSERT_EQ(asked.decide(request)->placement, asked.decide(request)->placement);
      const Result<Allocation> a = asked.place(request, Instant{1});
      const Result<Allocation> b = silent.place(request, Instant{1});
      ASSERT_EQ(a.has_value(), b.has_value());
      if (a) {
        ASSERT_EQ(*a, *b);
      }
    }
  }
}

TEST(EngineDecision, NodesInOtherOrder_SamePlacements) {
  Engine forward(Config{Policy::kFgd, 0});
  Engine backward(Config{Policy::kFgd, 0});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(forward.setNode(some::node("n" + std::to_string(i), 2)));
    ASSERT_TRUE(backward.setNode(some::node("n" + std::to_string(19 - i), 2)));
  }
  EXPECT_EQ(forward.nodes(), backward.nodes());
  for (int i = 0; i < 60; ++i) {
    const Request request = some::request("r" + std::to_string(i), 1, i % 3 == 0 ? 1000 : 400);
    const Result<Allocation> a = forward.place(request, Instant{1});
    const Result<Allocation> b = backward.place(request, Instant{1});
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) {
      ASSERT_EQ(*a, *b);
    }
  }
}

TEST(EngineDecision, AmongGivenNodes_OnlyThoseConsidered) {
  Engine engine = withNodes(4);
  const std::vector<NodeName> only{NodeName("n2")};
  const Result<Decision> decision = engine.decideAmong(some::request("a", 1, 100), only);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->placement->node.text, "n2");
  const std::vector<NodeName> unknown{NodeName("n9")};
  EXPECT_EQ(engine.decideAmong(some::request("a", 1, 100), unknown).error().code(),
            ErrorCode::kNotFound);
}

TEST(EngineDecision, Window_EndsWhenEnoughFit) {
  Engine engine = withNodes(10);
  Window window{3, 2, 0};
  const Result<Decision> decision = engine.decideWithin(some::request("a", 1, 100), window);
  ASSERT_TRUE(decision);
  EXPECT_EQ(window.looked_at, 2u);
  EXPECT_TRUE(decision->placement->node == engine.nodes()[3] ||
              decision->placement->node == engine.nodes()[4]);
}

TEST(EngineDecision, InvalidRequestOrNode_RefusedWithReason) {
  Engine engine = withNodes(1);
  const auto refused = [&](const Request& request) {
    const Result<Decision> decision = engine.decide(request);
    EXPECT_FALSE(decision);
    return decision ? "" : decision.error().message();
  };
  EXPECT_THAT(refused(some::request("a", 65, 1000)), testing::HasSubstr("at most 64"));
  EXPECT_THAT(refused(some::request("a", 1, 1001)), testing::HasSubstr("to 1000"));
  Request percent = some::request("a", 1, 100);
  percent.shape.containers[0].devices.memory = Percent{101};
  EXPECT_THAT(refused(percent), testing::HasSubstr("1 to 100"));
  Node twice = some::node("n", 2);
  twice.devices[1].uuid = twice.devices[0].uuid;
  EXPECT_FALSE(engine.setNode(twice));
  EXPECT_FALSE(engine.setNode(Node{}));
  EXPECT_EQ(engine.usage().capacity, 2000);
}

}  // namespace
}  // namespace divvy::engine
