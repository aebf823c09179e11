// Pools: against trying everything, and what is said of them.
#include "engine/pool.h"

#include <gtest/gtest.h>

#include <set>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

Pool pool(const std::string& name, const std::vector<std::string>& models) {
  Pool result;
  result.name = PoolName(name);
  for (const std::string& model : models) result.members.models.emplace_back(model);
  return result;
}

Request asking(const std::string& id, const std::string& pool, int compute,
               const std::string& user = "") {
  Request request = some::request(id, 1, compute);
  if (!pool.empty()) request.shape.pool = PoolName(pool);
  request.user = UserName(user);
  return request;
}

std::string message(const Result<Allocation>& result) {
  return result ? "given" : result.error().message();
}

const std::vector<std::string> kUsers{"", "ann", "bob"};

// Members of every kind, some that overlap and some without any.
Pool wildPool(Rng& rng, unsigned number, bool terms) {
  Pool result = pool("p" + std::to_string(number), {});
  Members& of = result.members;
  if (rng.below(2) == 0) of.models.emplace_back(rng.below(2) == 0 ? "H100" : "T4");
  if (rng.below(4) == 0) of.labels.push_back({"row", std::to_string(rng.below(2))});
  if (rng.below(4) == 0) of.nodes = {NodeName("n0"), NodeName("n" + std::to_string(rng.below(4)))};
  if (rng.below(3) == 0)
    for (unsigned i = 0; i < 4; ++i) of.uuids.emplace_back("n" + std::to_string(i) + "/0");
  if (rng.below(3) == 0) result.mode = rng.below(2) == 0 ? Mode::kExclusive : Mode::kShared;
  if (rng.below(3) == 0) result.devices = some::devicePolicy(rng);
  if (rng.below(3) == 0) result.policy = kPolicies[rng.below(kPolicies.size())];
  if (terms && rng.below(3) == 0)
    result.overcommit_permille = static_cast<std::uint32_t>(1000 + 250 * rng.below(5));
  if (rng.below(3) == 0) result.users = {UserName("ann")};
  if (number == 1 && rng.below(2) == 0) result.default_of = {UserName("ann")};
  return result;
}

std::vector<Pool> wildPools(Rng& rng, bool terms) {
  std::vector<Pool> pools;
  const std::uint64_t count = rng.below(4);
  for (unsigned i = 0; i < count; ++i) pools.push_back(wildPool(rng, i, terms));
  return pools;
}

Request wildRequest(Rng& rng, some::Wild& wild, const std::string& id) {
  Request request = wild.request(id);
  if (rng.below(2) == 0) request.shape.devices.reset();
  const std::uint64_t where = rng.below(6);
  if (where < 4) request.shape.pool = PoolName("p" + std::to_string(where));
  if (where == 4) request.shape.pool = PoolName();
  request.user = UserName(kUsers[rng.below(kUsers.size())]);
  return request;
}

struct Seen {
  unsigned placed = 0, refused = 0, not_for = 0, moved = 0, suggested = 0;
  std::set<DeviceWhy> reasons;
};

struct Pair {
  Engine engine{Config{}};
  brute::World world;
  std::map<std::string, Placement> booked;

  void add(const Node& node) {
    ASSERT_TRUE(engine.setNode(node));
    world.add(node);
  }
  // Who was given it in another pool than the device is in now, as the cards have it.
  void setPools(const std::vector<Pool>& pools, Seen* seen) {
    const Result<std::vector<FormerPoolTenant>> told = engine.setPools(pools);
    ASSERT_TRUE(told) << told.error().message();
    world.setPools(pools);
    std::vector<FormerPoolTenant> expected;
    for (const auto& [id, placement] : booked) {
      for (const Charge& charge : placement.charges) {
        for (const brute::Card& card : world.machines().at(placement.node.text).cards) {
          if (card.is.uuid != charge.uuid || card.pool == placement.pool.text) continue;
          expected.push_back({RequestId(id), charge.uuid, placement.pool, PoolName(card.pool)});
        }
      }
    }
    seen->moved += static_cast<unsigned>(expected.size());
    ASSERT_EQ(*told, expected);
  }
  void release(std::size_t number) {
    const auto at = std::next(booked.begin(), static_cast<long>(number));
    ASSERT_TRUE(engine.release(RequestId(at->first)));
    world.book(at->second, -1);
    booked.erase(at);
  }
};

// `amounts`: also how much was needed and had.
void expectSaid(const Pair& pair, const Shape& shape, const Decision& decision, bool amounts,
                Seen* seen) {
  std::map<std::string, NodeRefusal> refusals;
  for (const NodeRefusal& one : decision.refusals) refusals[one.node.text] = one;
  bool fits = false;
  for (const auto& [name, machine] : pair.world.machines()) {
    std::optional<NodeRefusal> expected = pair.world.refusal(machine, shape);
    fits = fits || !expected;
    const auto actual = refusals.find(name);
    ASSERT_EQ(expected.has_value(), actual != refusals.end()) << name;
    if (!expected) continue;
    const NodeRefusal& said = actual->second;
    ASSERT_EQ(expected->why, said.why) << text(*expected) << " / " << text(said);
    ASSERT_EQ(expected->devices.size(), said.devices.size());
    for (std::size_t i = 0; i < said.devices.size(); ++i) {
      seen->reasons.insert(said.devices[i].why);
      ASSERT_EQ(expected->devices[i].why, said.devices[i].why) << text(said.devices[i]);
      if (amounts) {
        ASSERT_EQ(expected->devices[i], said.devices[i]) << text(said.devices[i]);
      }
    }
  }
  ASSERT_EQ(decision.fits(), fits);
}

// The first pool in which it would fit that node as it is, by trying all.
void expectOtherPool(const Pair& pair, const Request& request, Seen* seen) {
  for (const auto& [name, machine] : pair.world.machines()) {
    const auto fits = [&, &at = machine](const PoolName& pool) {
      Request other = request;
      other.shape.pool = pool;
      const std::optional<Shape> shape = pair.world.pooled(other);
      return shape && !pair.world.refusal(at, *shape);
    };
    if (!pair.world.refusal(machine, *pair.world.pooled(request))) continue;
    std::vector<std::string> expected;
    std::vector<PoolName> pools;
    for (const Pool& one : pair.engine.pools()) pools.push_back(one.name);
    if (!pools.empty()) pools.emplace_back();
    for (const PoolName& pool : pools)
      if (expected.empty() && fits(pool)) expected.push_back(pool.text);
    const auto remedies = pair.engine.remedies(request, NodeName(name));
    ASSERT_TRUE(remedies);
    std::vector<std::string> said;
    for (const Remedy& remedy : *remedies)
      if (remedy.front().kind == ChangeKind::kPool) said.push_back(remedy.front().names.front());
    ASSERT_EQ(said, expected) << name;
    seen->suggested += static_cast<unsigned>(said.size());
  }
}

void ask(Pair& pair, const Request& request, bool amounts, Seen* seen) {
  const std::optional<Shape> shape = pair.world.pooled(request);
  const Result<Decision> decision = pair.engine.explain(request);
  ASSERT_EQ(shape.has_value(), decision.has_value());
  if (!shape) {
    ++seen->not_for;
    ASSERT_EQ(decision.error().code(), ErrorCode::kUsage);
    return;
  }
  ASSERT_NO_FATAL_FAILURE(expectSaid(pair, *shape, *decision, amounts, seen));
  if (!decision->fits()) {
    ASSERT_NO_FATAL_FAILURE(expectOtherPool(pair, request, seen));
  }
  const Result<Allocation> given = pair.engine.place(request, Instant{1});
  ASSERT_EQ(given.has_value(), decision->fits());
  ++(given ? seen->placed : seen->refused);
  if (!given) return;
  ASSERT_EQ(pair.world.faultOf(given->placement, *shape), "");
  pair.world.book(given->placement, 1);
  pair.booked[request.id.text] = given->placement;
  ASSERT_EQ(pair.world.mixed(), "");
}

void expectAgreement(unsigned clusters, bool replaced) {
  Rng rng(replaced ? 22 : 21);
  Seen seen;
  for (unsigned cluster = 0; cluster < clusters; ++cluster) {
    some::Wild wild{rng, true, true};
    Pair pair;
    ASSERT_NO_FATAL_FAILURE(pair.setPools(wildPools(rng, !replaced), &seen));
    for (unsigned i = 0; i < 4; ++i) {
      Node node = wild.node("n" + std::to_string(i));
      node.labels.push_back({"row", std::to_string(i % 2)});
      pair.add(node);
    }
    for (unsigned i = 0; i < 20; ++i) {
      ASSERT_NO_FATAL_FAILURE(
          ask(pair, wildRequest(rng, wild, "r" + std::to_string(i)), !replaced, &seen))
          << cluster << "/" << i;
      if (!pair.booked.empty() && rng.below(4) == 0) {
        ASSERT_NO_FATAL_FAILURE(pair.release(rng.below(pair.booked.size())));
      }
      if (replaced && rng.below(6) == 0) {
        ASSERT_NO_FATAL_FAILURE(pair.setPools(wildPools(rng, false), &seen));
      }
    }
  }
  EXPECT_GT(seen.placed, clusters * 2);
  EXPECT_GT(seen.refused, clusters * 2);
  EXPECT_GT(seen.not_for, clusters);
  EXPECT_GT(seen.suggested, clusters);
  EXPECT_TRUE(seen.reasons.count(DeviceWhy::kNotInPool));
  EXPECT_EQ(replaced, seen.reasons.count(DeviceWhy::kPreviousPoolTenants) > 0);
  EXPECT_EQ(replaced, seen.moved > 0);
}

TEST(Pools, RandomPools_AgreesWithBruteForce) {
  expectAgreement(300, false);
}

TEST(Pools, PoolsReplaced_NoDeviceWithTenantsOfTwo) {
  expectAgreement(300, true);
}

TEST(Pools, UnknownOrForeignPool_RefusedWithAccepted) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 2)));
  EXPECT_EQ(message(engine.place(asking("a", "x", 100), Instant{1})),
            "no pool is called \"x\"; accepted: no pool");
  Pool training = pool("training", {"H100"});
  training.users = {UserName("ann")};
  ASSERT_TRUE(engine.setPools({training, pool("rest", {})}));
  EXPECT_EQ(message(engine.place(asking("a", "x", 100, "ann"), Instant{1})),
            "no pool is called \"x\"; accepted: training, rest, or no pool");
  EXPECT_EQ(message(engine.place(asking("a", "training", 100, "bob"), Instant{1})),
            "pool training is not for bob; accepted: rest, or no pool");
  EXPECT_EQ(message(engine.place(asking("a", "training", 100, "ann"), Instant{1})), "given");
  EXPECT_EQ(engine.find(RequestId("a"))->placement.pool, PoolName("training"));
}

TEST(Pools, InvalidPools_Refused) {
  Engine engine{Config{}};
  const auto said = [&](const std::vector<Pool>& pools) {
    const auto result = engine.setPools(pools);
    return result ? "fine" : result.error().message();
  };
  Pool one = pool("a", {});
  EXPECT_EQ(said({one, one}), "pool a: twice; accepted: each name once");
  one.overcommit_permille = 500;
  EXPECT_EQ(said({one}), "pool a: overcommit of 500 thousandths; accepted: 1000 to 4000");
  one = pool("a", {});
  one.mode = Mode::kMig;
  EXPECT_EQ(said({one}), "pool a: a mode that no pool can give; accepted: shared, exclusive");
  one.mode.reset();
  one.users = {UserName("ann")};
  one.default_of = {UserName("bob")};
  EXPECT_EQ(said({one}),
            "pool a: the default of bob, which may not use it; accepted: one of its users");
  EXPECT_TRUE(engine.pools().empty());
}

// Twelve cards, a training and an inference pool; the first with its cards to one each.
TEST(Pools, TrainingAndInference_NeverOnSameDevice) {
  Engine engine{Config{}};
  std::vector<Pool> pools{pool("training", {}), pool("inference", {})};
  pools[0].mode = Mode::kExclusive;
  for (unsigned n = 0; n < 3; ++n) {
    Node node = some::node("n" + std::to_string(n), 4);
    for (unsigned i = 0; i < 4; ++i)
      pools[i < 2 ? 0 : 1].members.uuids.push_back(node.devices[i].uuid);
    ASSERT_TRUE(engine.setNode(node));
  }
  ASSERT_TRUE(engine.setPools(pools));
  std::map<std::string, std::set<std::string>> by_device;
  unsigned given = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const std::string name = i % 2 == 0 ? "training" : "inference";
    const auto result = engine.place(asking(std::to_string(i), name, 250), Instant{1});
    if (!result) continue;
    ++given;
    for (const Charge& charge : result->placement.charges) by_device[charge.uuid.text].insert(name);
  }
  EXPECT_EQ(given, 6u + 20u);
  for (const auto& [uuid, names] : by_device) EXPECT_EQ(names.size(), 1u) << uuid;
  // Of a training card, to who asks for it outside of pools.
  const Result<Decision> outside = engine.explain(asking("x", "", 100));
  ASSERT_TRUE(outside);
  EXPECT_EQ(text(outside->refusals.front().devices.front()),
            "in pool training, which was not asked for");
}

TEST(Pools, FullPool_SuggestsPoolWithRoom) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 3)));
  std::vector<Pool> pools{pool("small", {}), pool("secret", {}), pool("large", {})};
  for (unsigned i = 0; i < 3; ++i) pools[i].members.uuids = {DeviceUuid("n/" + std::to_string(i))};
  pools[1].users = {UserName("ann")};
  ASSERT_TRUE(engine.setPools(pools));
  ASSERT_TRUE(engine.place(asking("a", "small", 1000), Instant{1}));
  const auto remedies = [&](const std::string& user) {
    std::string all;
    const auto found = engine.remedies(asking("b", "small", 500, user), NodeName("n"));
    for (const Remedy& remedy : *found) all += text(remedy) + "; ";
    return all;
  };
  EXPECT_EQ(remedies("bob"), "ask in pool large; ");
  EXPECT_EQ(remedies("ann"), "ask in pool secret; ");
}

// Whoever is decided for while pools change is not booked where they do not belong any more.
TEST(Pools, PoolsChangedAfterDecision_ReserveRefused) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 1)));
  const Request request = some::request("a", 1, 500);
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  ASSERT_TRUE(engine.setPools({pool("all", {})}));
  EXPECT_FALSE(engine.reserve(request, *decision->placement, Instant{1}));
  Pool mine = pool("all", {});
  mine.default_of = {UserName("ann")};
  ASSERT_TRUE(engine.setPools({mine}));
  Request hers = request;
  hers.user = UserName("ann");
  const auto late = engine.reserve(hers, *decision->placement, Instant{1});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message(), "request a: was decided while it got another pool");
  EXPECT_TRUE(engine.place(hers, Instant{1}));
}

// What a pool made of a device ends with the pool.
TEST(Pools, PoolsRemoved_DevicesSharedAgain) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 1)));
  Pool alone = pool("alone", {});
  alone.mode = Mode::kExclusive;
  ASSERT_TRUE(engine.setPools({alone}));
  ASSERT_TRUE(engine.place(asking("a", "alone", 100), Instant{1}));
  EXPECT_FALSE(engine.place(asking("b", "alone", 100), Instant{1}));
  const auto told = engine.setPools({});
  ASSERT_TRUE(told);
  ASSERT_EQ(told->size(), 1u);
  EXPECT_EQ(told->front().given_in, PoolName("alone"));
  EXPECT_FALSE(engine.place(some::request("c", 1, 100), Instant{1}));
  EXPECT_TRUE(engine.release(RequestId("a")));
  EXPECT_TRUE(engine.place(some::request("c", 1, 100), Instant{1}));
  EXPECT_TRUE(engine.place(some::request("d", 1, 100), Instant{1}));
}

}  // namespace
}  // namespace divvy::engine
