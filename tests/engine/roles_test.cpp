// E7: twelve GPUs on two nodes, where agents are trained by reinforcement: gangs of trainers and
// rollouts that start together, each role on cards and nodes of its own.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "some.h"

namespace divvy::engine {
namespace {

constexpr unsigned kOfANode = 6;

Engine twelve(bool isolated) {
  Engine engine{Config{}};
  std::vector<Pool> pools;
  for (const char* role : {"train", "rollout"}) {
    Node node = some::node(std::string("node-") + role, kOfANode);
    node.labels = {{"role", role}};
    EXPECT_TRUE(engine.setNode(node));
    Pool pool;
    pool.name = PoolName(role);
    pool.members.labels = node.labels;
    pools.push_back(pool);
  }
  if (isolated) {
    EXPECT_TRUE(engine.setPools(pools));
  }
  return engine;
}

Request member(const std::string& id, const std::string& role, unsigned devices, int compute,
               bool isolated) {
  Request request = some::request(id, devices, compute, gib(20));
  request.shape.containers[0].cpu = {100};
  if (isolated) request.shape.pool = PoolName(role);
  return request;
}

// Trainers with two whole cards each, rollouts with half a card each.
Gang job(const std::string& name, unsigned trainers, unsigned rollouts, bool isolated) {
  Gang gang;
  for (unsigned i = 0; i < trainers; ++i)
    gang.members.push_back(
        member("train-" + name + "-" + std::to_string(i), "train", 2, 1000, isolated));
  for (unsigned i = 0; i < rollouts; ++i)
    gang.members.push_back(
        member("rollout-" + name + "-" + std::to_string(i), "rollout", 1, 500, isolated));
  return gang;
}

std::string roleOf(const RequestId& id) {
  return id.text.substr(0, id.text.find('-'));
}

// By node; and no card is anybody's beyond what it has.
std::map<std::string, std::set<std::string>> rolesOf(const Engine& engine) {
  std::map<std::string, std::set<std::string>> roles;
  std::map<std::string, int> taken;
  for (const Allocation& one : engine.allocations()) {
    roles[one.placement.node.text].insert(roleOf(one.id));
    for (const Charge& charge : one.placement.charges) {
      taken[charge.uuid.text] += charge.compute.milli;
      EXPECT_LE(taken[charge.uuid.text], 1000);
    }
  }
  return roles;
}

TEST(RolePools, GangOfTwoRoles_AllPlacedOrNone) {
  Engine engine = twelve(true);
  // Four trainers need eight cards of six, whatever is free on the other node.
  const auto refused = engine.placeGang(job("wide", 4, 2, true), Instant{1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoRoom);
  EXPECT_TRUE(engine.allocations().empty());
  const auto also = engine.placeGang(job("many", 1, 13, true), Instant{1});
  ASSERT_FALSE(also) << "twelve halves are all there are of six cards";
  EXPECT_TRUE(engine.allocations().empty());
  const auto placed = engine.placeGang(job("a", 3, 12, true), Instant{1});
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_EQ(engine.usage().idle, 0) << "all twelve are in use";
  const auto roles = rolesOf(engine);
  EXPECT_EQ(roles.at("node-train"), (std::set<std::string>{"train"}));
  EXPECT_EQ(roles.at("node-rollout"), (std::set<std::string>{"rollout"}));
}

// By chance, until nothing fits: jobs come whole, go whole, and never meet. Without pools they do.
TEST(RolePools, RandomGangs_RolesNeverShareNode) {
  for (const bool isolated : {true, false}) {
    Rng rng(17);
    unsigned placed = 0, refused = 0, met = 0;
    for (unsigned round = 0; round < 100; ++round) {
      Engine engine = twelve(isolated);
      std::map<std::string, Gang> running;
      for (unsigned i = 0; i < 12; ++i) {
        const std::string name = std::to_string(i);
        const Gang gang = job(name, static_cast<unsigned>(rng.below(3)),
                              static_cast<unsigned>(1 + rng.below(6)), isolated);
        const std::vector<Allocation> before = engine.allocations();
        const auto given = engine.placeGang(gang, Instant{1});
        ++(given ? placed : refused);
        if (given) {
          ASSERT_EQ(given->members.size(), gang.members.size());
          ASSERT_EQ(engine.allocations().size(), before.size() + gang.members.size());
          running[name] = gang;
        } else {
          ASSERT_EQ(engine.allocations(), before) << "nobody of it started";
        }
        for (const auto& [node, roles] : rolesOf(engine)) met += roles.size() > 1 ? 1 : 0;
        if (running.empty() || rng.below(3) != 0) continue;
        for (const Request& one : running.begin()->second.members)
          ASSERT_TRUE(engine.release(one.id));
        running.erase(running.begin());
      }
    }
    EXPECT_GT(placed, 200u);
    EXPECT_GT(refused, 50u);
    if (isolated) {
      EXPECT_EQ(met, 0u);
    } else {
      EXPECT_GT(met, 50u) << "else it is not the pools that keep them apart";
    }
  }
}

}  // namespace
}  // namespace divvy::engine
