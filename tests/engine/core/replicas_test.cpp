// How many more requests fit: as many as are placed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/replicas.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr Instant kEver{1'000'000};

bool asksForDevices(const Request& request) {
  return std::any_of(request.shape.containers.begin(), request.shape.containers.end(),
                     [](const Container& one) { return one.devices.count > 0; });
}

// Random nodes with random tenants.
class State {
 public:
  explicit State(std::uint64_t seed)
      : rng_(seed),
        wild_{rng_, seed % 2 == 0, seed % 3 == 0, seed % 5 == 0},
        config_{
            kPolicies[1 + seed % (kPolicies.size() - 1)],  // without kRandom, whose draws differ
            seed} {
    const std::uint64_t count = 1 + rng_.below(8);
    for (std::uint64_t i = 0; i < count; ++i) nodes_.push_back(wild_.node("n" + std::to_string(i)));
  }

  Engine engine() const {
    Engine made(config_);
    EXPECT_TRUE(made.setTarget(some::target()));
    for (const Node& node : nodes_) EXPECT_TRUE(made.setNode(node));
    return made;
  }
  void fill(Engine& engine) {
    for (std::uint64_t i = rng_.below(40); i > 0; --i)
      (void)engine.place(wild_.request("t" + std::to_string(i)), kEver);
    for (std::uint64_t i = rng_.below(20); i > 0; --i)
      engine.release(RequestId("t" + std::to_string(rng_.below(40))));
  }
  Request request() {
    for (;;) {
      Request made = wild_.request("replica");
      if (asksForDevices(made)) return made;
    }
  }
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
  some::Wild wild_;
  Config config_;
  std::vector<Node> nodes_;
};

std::uint64_t placed(Engine& engine, Request request) {
  std::uint64_t count = 0;
  for (;; ++count) {
    request.id = RequestId("replica" + std::to_string(count));
    const Result<Allocation> given = engine.place(request, kEver);
    if (given) continue;
    EXPECT_EQ(given.error().code(), ErrorCode::kNoRoom) << given.error().message();
    break;
  }
  for (std::uint64_t i = 0; i < count; ++i)
    EXPECT_TRUE(engine.release(RequestId("replica" + std::to_string(i))));
  return count;
}

TEST(ReplicaCounter, RandomStatesAndShapes_AsManyAsArePlaced) {
  std::uint64_t fitting = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    State state(seed);
    Engine engine = state.engine();
    state.fill(engine);
    const std::vector<Allocation> before = engine.allocations();
    const Request request = state.request();
    const Result<ReplicaCount> count = ReplicaCounter(engine).count(request);
    ASSERT_TRUE(count) << count.error().message();
    ASSERT_EQ(count->unknown_nodes, 0u) << seed;
    ASSERT_EQ(engine.allocations(), before) << "a count changes nothing";
    ASSERT_EQ(placed(engine, request), count->fit) << "seed " << seed;
    fitting += count->fit > 0 ? 1 : 0;
  }
  EXPECT_GT(fitting, 300u) << "states in which something fits";
}

// What is kept is of the present state.
TEST(ReplicaCounter, StateChanges_CountFollows) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    State state(seed);
    Engine engine = state.engine();
    const Request one = state.request(), other = state.request();
    for (int round = 0; round < 8; ++round) {
      state.fill(engine);
      for (const Request& request : {one, other}) {
        Engine fresh = state.engine();
        for (const Allocation& allocation : engine.allocations())
          ASSERT_TRUE(fresh.adopt(allocation));
        ASSERT_EQ(ReplicaCounter(engine).count(request)->fit,
                  ReplicaCounter(fresh).count(request)->fit)
            << seed;
      }
    }
  }
}

TEST(ReplicaCounter, SomeCountAsEnded_AsIfReleased) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    State state(seed);
    Engine engine = state.engine();
    state.fill(engine);
    const Request request = state.request();
    ReplicaTerms terms;
    terms.ended = [](const RequestId& id) { return id.text.back() % 2 == 0; };
    terms.variant = 7;
    const Result<ReplicaCount> with = ReplicaCounter(engine).count(request, terms);
    const Result<ReplicaCount> now = ReplicaCounter(engine).count(request);
    ASSERT_TRUE(with && now);
    for (const Allocation& one : engine.allocations())
      if (terms.ended(one.id)) engine.release(one.id);
    ASSERT_EQ(with->fit, ReplicaCounter(engine).count(request)->fit) << seed;
    ASSERT_EQ(ReplicaCounter(engine).count(request, terms)->fit, with->fit) << seed;
  }
}

TEST(ReplicaCounter, FewNodesAtATime_UnknownUntilAllAreCounted) {
  Engine engine(Config{Policy::kDivvy, 1});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(engine.setNode(some::node("n" + std::to_string(i), 8)));
  const Request request = some::request("replica", 1, 250, gib(10));
  ReplicaTerms terms;
  terms.most_nodes = 3;
  for (const std::size_t unknown : {7, 4, 1, 0, 0}) {
    const Result<ReplicaCount> count = ReplicaCounter(engine).count(request, terms);
    ASSERT_TRUE(count);
    EXPECT_EQ(count->unknown_nodes, unknown);
    EXPECT_EQ(count->fit, (10 - unknown) * 32) << "four a device";
    EXPECT_EQ(count->nodes_that_fit, 10 - unknown);
  }
  ASSERT_TRUE(engine.place(request, kEver));
  EXPECT_EQ(ReplicaCounter(engine).count(request, terms)->fit, 319u) << "one node is counted again";
}

TEST(ReplicaCounter, MostOnANode_LimitsTheSum) {
  Engine engine(Config{Policy::kDivvy, 1});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(engine.setNode(some::node(name, 2)));
  const Request request = some::request("replica", 1, 250);
  ReplicaTerms terms;
  terms.most_on = [](const NodeName& node) {
    return node.text == "a" ? 3u : node.text == "b" ? 0u : 100u;
  };
  const Result<ReplicaCount> count = ReplicaCounter(engine).count(request, terms);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->fit, 3u + 8u);
  EXPECT_EQ(count->nodes_that_fit, 2u);
  EXPECT_EQ(ReplicaCounter(engine).count(request)->fit, 24u) << "what is kept has no such limit";
}

// Four devices with 20 GiB free each are 80 GiB and no room for 24.
TEST(ReplicaCounter, FreeMemoryInFragments_CountsNone) {
  Engine engine(Config{Policy::kDivvy, 1});
  ASSERT_TRUE(engine.setNode(some::node("n", 4)));
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(engine.place(some::request("t" + std::to_string(i), 1, 500, gib(60)), kEver));
  EXPECT_EQ(ReplicaCounter(engine).count(some::request("replica", 1, 100, gib(24)))->fit, 0u);
  EXPECT_EQ(ReplicaCounter(engine).count(some::request("replica", 1, 100, gib(20)))->fit, 4u);
}

}  // namespace
}  // namespace divvy::engine
