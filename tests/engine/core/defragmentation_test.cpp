// Plans of moves: carried out move by move, against every sequence of moves where there are few.
#include "engine/defragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "some.h"

namespace divvy::engine {
namespace {

using Goal = DefragmentationGoal;
constexpr Instant kSoon{1};
constexpr std::array<Goal, 4> kGoals{Goal::kDevices, Goal::kNodes, Goal::kFragmentation,
                                     Goal::kRoom};

// What an engine is made from, again and again.
struct Cluster {
  Config config;
  std::vector<Node> nodes;
  std::map<RequestId, Shape> shapes;
  std::vector<Allocation> there;

  Engine made() const {
    Engine engine{config};
    EXPECT_TRUE(engine.setTarget(some::target()));
    for (const Node& node : nodes) EXPECT_TRUE(engine.setNode(node));
    for (const Allocation& each : there) EXPECT_TRUE(engine.adopt(each));
    return engine;
  }
  // Places what fits, then takes some away again.
  void fill(Rng& rng, unsigned count, unsigned keep_of_ten, some::Wild wild) {
    Engine engine = made();
    for (unsigned i = 0; i < count; ++i) {
      const Request request = wild.request("p" + std::to_string(i));
      if (!engine.place(request, kSoon)) continue;
      if (rng.below(10) >= keep_of_ten) {
        engine.release(request.id);
      } else {
        shapes[request.id] = request.shape;
      }
    }
    there = engine.allocations();
  }
};

struct Seen {
  std::set<DeviceAt> devices;  // with somebody on them
  std::set<NodeName> nodes;
};

Seen seenOn(const Engine& engine) {
  Seen seen;
  for (const Allocation& each : engine.allocations()) {
    seen.nodes.insert(each.placement.node);
    for (const Charge& charge : each.placement.charges)
      seen.devices.insert({each.placement.node, charge.uuid});
  }
  return seen;
}

template <typename Name>
std::vector<Name> without(const std::set<Name>& all, const std::set<Name>& others) {
  std::vector<Name> rest;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

std::size_t fitsOn(Engine& engine, const DefragmentationOptions& terms) {
  std::size_t fits = 0;
  std::vector<RequestId> placed;
  for (; fits < terms.times; ++fits) {
    const RequestId id("room " + std::to_string(fits));
    if (!engine.place({id, terms.room}, kSoon)) break;
    placed.push_back(id);
  }
  for (const RequestId& id : placed) engine.release(id);
  return fits;
}

double wonOn(Engine& engine, const DefragmentationOptions& terms) {
  const Seen seen = seenOn(engine);
  if (terms.goal == Goal::kDevices) return -static_cast<double>(seen.devices.size());
  if (terms.goal == Goal::kNodes) return -static_cast<double>(seen.nodes.size());
  if (terms.goal == Goal::kFragmentation) return -engine.usage().fragmented;
  return static_cast<double>(fitsOn(engine, terms));
}

// False: one has no room when its turn comes.
bool carriedOut(Engine& engine, const Cluster& cluster, const std::vector<Move>& moves,
                std::size_t left_out) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (i == left_out) continue;
    const Move& move = moves[i];
    const Allocation* before = engine.find(move.id);
    EXPECT_TRUE(before != nullptr && before->placement == move.from) << move.id.text;
    EXPECT_TRUE(engine.release(move.id));
    if (!engine.reserve({move.id, cluster.shapes.at(move.id)}, move.to, kSoon)) return false;
  }
  return true;
}

DefragmentationOptions anyTerms(Rng& rng, const Cluster& cluster, Goal goal) {
  DefragmentationOptions terms;
  terms.goal = goal;
  for (const auto& [id, shape] : cluster.shapes) {
    if (rng.below(8) == 0) continue;
    MoveCost& move = terms.of[id];
    if (rng.below(10) != 0) move.shape = shape;
    move.work_lost = static_cast<std::int64_t>(rng.below(10));
    if (rng.below(6) == 0) move.group = "g" + std::to_string(rng.below(2));
    if (rng.below(4) == 0) move.budget = "b" + std::to_string(rng.below(2));
  }
  terms.budgets["b0"] = 2;
  terms.most_moves = 1 + rng.below(12);
  terms.room = some::request("room", 1 + static_cast<unsigned>(rng.below(3)), 1000).shape;
  terms.times = 2 + rng.below(4);
  return terms;
}

// Who is interrupted by these moves.
std::set<RequestId> interruptedBy(const DefragmentationPlan& plan, const Cluster& cluster,
                                  const DefragmentationOptions& terms) {
  std::set<RequestId> all;
  for (const Move& move : plan.moves) {
    const std::string& group = terms.of.at(move.id).group;
    all.insert(move.id);
    for (const auto& [id, other] : terms.of)
      if (!group.empty() && other.group == group && cluster.shapes.count(id) != 0) all.insert(id);
  }
  return all;
}

void keepsTheTerms(const DefragmentationPlan& plan, const Cluster& cluster,
                   const DefragmentationOptions& terms) {
  ASSERT_LE(plan.moves.size(), terms.most_moves);
  std::set<RequestId> moved;
  for (const Move& move : plan.moves) {
    ASSERT_TRUE(moved.insert(move.id).second) << "moves twice";
    ASSERT_EQ(terms.of.count(move.id), 1u) << "may not move";
    ASSERT_TRUE(terms.of.at(move.id).shape) << "nobody knows what it asked for";
  }
  std::map<std::string, std::int64_t> used;
  std::int64_t lost = 0;
  const std::set<RequestId> interrupted = interruptedBy(plan, cluster, terms);
  for (const RequestId& id : interrupted) {
    lost += terms.of.at(id).work_lost;
    if (!terms.of.at(id).budget.empty()) ++used[terms.of.at(id).budget];
  }
  for (const auto& [budget, count] : used) ASSERT_LE(count, budget == "b0" ? 2 : 0);
  ASSERT_EQ(plan.interrupted, interrupted.size());
  ASSERT_EQ(plan.work_lost, lost);
  std::vector<RequestId> unknown;
  for (const auto& [id, move] : terms.of)
    if (!move.shape) unknown.push_back(id);
  ASSERT_EQ(plan.unknown, unknown);
}

void comesTrue(const DefragmentationPlan& plan, const Cluster& cluster,
               const DefragmentationOptions& terms) {
  Engine engine = cluster.made();
  const Seen before = seenOn(engine);
  const double was = wonOn(engine, terms);
  ASSERT_EQ(plan.before.fragmented, engine.usage().fragmented);
  ASSERT_TRUE(carriedOut(engine, cluster, plan.moves, SIZE_MAX));
  const Seen after = seenOn(engine);
  ASSERT_EQ(plan.freed, without(before.devices, after.devices));
  ASSERT_EQ(plan.taken, without(after.devices, before.devices));
  ASSERT_EQ(plan.nodes_freed, without(before.nodes, after.nodes));
  ASSERT_EQ(plan.nodes_taken, without(after.nodes, before.nodes));
  ASSERT_EQ(plan.after.fragmented, engine.usage().fragmented);
  ASSERT_EQ(plan.after.used, engine.usage().used);
  const double won = wonOn(engine, terms);
  if (terms.goal == Goal::kRoom) {
    ASSERT_EQ(static_cast<double>(plan.fits_before), was);
    ASSERT_EQ(static_cast<double>(plan.fits_after), won);
  }
  ASSERT_TRUE(plan.moves.empty() ? won == was : won > was);
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    Engine fewer = cluster.made();
    const bool possible = carriedOut(fewer, cluster, plan.moves, i);
    ASSERT_TRUE(!possible || wonOn(fewer, terms) < won) << plan.moves[i].id.text << " is needless";
  }
}

TEST(Defragmentation, RandomClusters_EveryMoveFitsAndIsNeeded) {
  Rng rng(404);
  std::array<unsigned, 4> plans{}, moves{};
  unsigned shorter = 0;
  for (unsigned round = 0; round < 400; ++round) {
    some::Wild wild{rng, round % 3 == 0, round % 3 == 1};
    Cluster cluster;
    const std::uint64_t nodes = 2 + rng.below(5);
    for (std::uint64_t n = 0; n < nodes; ++n)
      cluster.nodes.push_back(wild.node("n" + std::to_string(n)));
    cluster.fill(rng, 40, 6, wild);
    const std::size_t goal = round % 4;
    const DefragmentationOptions terms = anyTerms(rng, cluster, kGoals[goal]);
    const Engine engine = cluster.made();
    const Usage usage = engine.usage();
    const auto plan = engine.defragment(terms);
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_EQ(engine.allocations(), cluster.there);
    ASSERT_EQ(engine.usage().fragmented, usage.fragmented);
    ASSERT_NO_FATAL_FAILURE(keepsTheTerms(*plan, cluster, terms)) << round;
    ASSERT_NO_FATAL_FAILURE(comesTrue(*plan, cluster, terms)) << round;
    plans[goal] += plan->moves.empty() ? 0 : 1;
    moves[goal] += static_cast<unsigned>(plan->moves.size());
    shorter += plan->moves.size() == terms.most_moves ? 1 : 0;
  }
  for (std::size_t goal = 0; goal < kGoals.size(); ++goal) {
    EXPECT_GT(plans[goal], 2u) << goal;
    EXPECT_GE(moves[goal], plans[goal]) << goal;
  }
  EXPECT_GT(shorter, 5u) << "no plan was bounded";
}

// Devices alike, requests for parts of one: who is where.
struct Tiny {
  std::vector<int> parts;       // of each request
  std::vector<std::size_t> at;  // its device
  std::size_t devices = 0;

  bool fits(std::size_t who, std::size_t device) const {
    int used = parts[who];
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i != who && at[i] == device) used += parts[i];
    return used <= 1000;
  }
  std::size_t idle() const { return devices - std::set<std::size_t>(at.begin(), at.end()).size(); }
};

// Every sequence of so many moves.
std::size_t mostIdle(const Tiny& start, std::size_t moves) {
  std::set<std::vector<std::size_t>> seen{start.at}, now{start.at};
  std::size_t most = start.idle();
  for (std::size_t step = 0; step < moves; ++step) {
    std::set<std::vector<std::size_t>> next;
    for (const std::vector<std::size_t>& at : now) {
      Tiny tiny{start.parts, at, start.devices};
      for (std::size_t who = 0; who < tiny.parts.size(); ++who) {
        const std::size_t was = tiny.at[who];
        for (std::size_t to = 0; to < tiny.devices; ++to) {
          tiny.at[who] = was;
          if (to == was || !tiny.fits(who, to)) continue;
          tiny.at[who] = to;
          most = std::max(most, tiny.idle());
          if (seen.insert(tiny.at).second) next.insert(tiny.at);
        }
        tiny.at[who] = was;
      }
    }
    now = std::move(next);
  }
  return most;
}

TEST(Defragmentation, SmallClusters_NearlyBestOfAllSequences) {
  Rng rng(405);
  unsigned best = 0, less = 0, won = 0;
  for (unsigned round = 0; round < 300; ++round) {
    Cluster cluster;
    for (unsigned n = 0; n < 3; ++n)
      cluster.nodes.push_back(some::node("n" + std::to_string(n), 1 + rng.below(2) % 2));
    std::vector<std::string> uuids;
    for (const Node& node : cluster.nodes)
      for (const Device& device : node.devices) uuids.push_back(device.uuid.text);
    Tiny tiny{{}, {}, uuids.size()};
    Engine engine = cluster.made();
    for (unsigned i = 0; i < 5; ++i) {
      Request request =
          some::request("p" + std::to_string(i), 1, static_cast<int>(100 * (1 + rng.below(8))));
      const std::size_t device = rng.below(uuids.size());
      request.shape.selector.uuids = {DeviceUuid(uuids[device])};
      if (!engine.place(request, kSoon)) continue;
      request.shape.selector.uuids.clear();
      cluster.shapes[request.id] = request.shape;
      tiny.parts.push_back(request.shape.containers[0].devices.compute.milli);
      tiny.at.push_back(device);
    }
    cluster.there = engine.allocations();
    DefragmentationOptions terms;
    for (const auto& [id, shape] : cluster.shapes) terms.of[id].shape = shape;
    terms.most_moves = 1 + rng.below(4);
    const auto plan = engine.defragment(terms);
    ASSERT_TRUE(plan);
    ASSERT_NO_FATAL_FAILURE(comesTrue(*plan, cluster, terms)) << round;
    const std::size_t told = tiny.idle() + plan->freed.size() - plan->taken.size();
    const std::size_t most = mostIdle(tiny, terms.most_moves);
    ASSERT_LE(told, most) << round;
    (told == most ? best : less) += 1;
    won += most > tiny.idle() ? 1 : 0;
  }
  std::printf("as good as any sequence: %u of %u, of which %u had something to win\n", best,
              best + less, won);
  EXPECT_GT(won, 100u);
  EXPECT_LE(less * 20, won) << "19 of 20 that had something to win";
}

TEST(Defragmentation, InvalidTerms_Refused) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 2)));
  ASSERT_TRUE(engine.place(some::request("a", 1, 500), kSoon));
  DefragmentationOptions terms;
  terms.of[RequestId("a")].work_lost = -1;
  EXPECT_FALSE(engine.defragment(terms));
  terms.of[RequestId("a")].work_lost = 0;
  EXPECT_TRUE(engine.defragment(terms)->moves.empty());
  terms.of[RequestId("a")].shape = some::request("a", 1, 1001).shape;
  EXPECT_FALSE(engine.defragment(terms));
  terms.of.clear();
  terms.of[RequestId("gone")];
  EXPECT_TRUE(engine.defragment(terms)->unknown.empty());
  terms.goal = Goal::kRoom;
  terms.times = 0;
  EXPECT_FALSE(engine.defragment(terms));
}

}  // namespace
}  // namespace divvy::engine
