// Who has to end: nobody more than it takes, and whoever costs least, by trying every set
// elsewhere.
#include "engine/preemption.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

struct Pair {
  Engine engine{Config{}};
  brute::World world;
  std::map<RequestId, Placement> placed;
  EvictionCosts costs;

  void add(const Node& node) {
    ASSERT_TRUE(engine.setNode(node));
    world.add(node);
  }
  void place(const Request& request, const EvictionCost& stake) {
    const Result<Allocation> given = engine.place(request, Instant{1});
    if (!given) return;
    world.book(given->placement, 1);
    placed[request.id] = given->placement;
    costs.of[request.id] = stake;
  }
  // Whether it would fit there without these.
  bool fitsWithout(const std::string& node, const std::vector<RequestId>& ended,
                   const Shape& shape) {
    for (const RequestId& id : ended) world.book(placed.at(id), -1);
    const bool fits = !world.refusal(world.machines().at(node), shape);
    for (const RequestId& id : ended) world.book(placed.at(id), 1);
    return fits;
  }
  PreemptionCost costOf(const std::vector<RequestId>& ended) const {
    PreemptionCost cost{0, INT64_MIN, 0, static_cast<std::int64_t>(ended.size())};
    std::map<std::string, std::int64_t> ends;
    for (const RequestId& id : ended) {
      const EvictionCost& stake = costs.of.at(id);
      cost.highest = std::max(cost.highest, stake.priority);
      cost.work_lost += stake.work_lost;
      if (!stake.budget.empty()) ++ends[stake.budget];
    }
    for (const auto& [budget, count] : ends) {
      const auto allowed = costs.budgets.find(budget);
      const std::int64_t left = allowed == costs.budgets.end() ? 0 : allowed->second;
      cost.violations += std::max<std::int64_t>(count - left, 0);
    }
    return cost;
  }
  bool wholeGroups(const std::vector<RequestId>& ended) const {
    for (const RequestId& id : ended) {
      const std::string& group = costs.of.at(id).group;
      if (group.empty()) continue;
      for (const auto& [other, stake] : costs.of)
        if (stake.group == group && std::find(ended.begin(), ended.end(), other) == ended.end())
          return false;
    }
    return true;
  }
  // The cheapest of all sets of lower priority, on any node.
  std::optional<PreemptionCost> cheapest(const Shape& shape, std::int64_t priority) {
    std::vector<RequestId> lower;
    for (const auto& [id, stake] : costs.of)
      if (stake.priority < priority) lower.push_back(id);
    std::optional<PreemptionCost> best;
    for (std::uint32_t set = 1; set < 1u << lower.size(); ++set) {
      std::vector<RequestId> ended;
      for (std::size_t i = 0; i < lower.size(); ++i)
        if ((set >> i & 1) != 0) ended.push_back(lower[i]);
      const PreemptionCost cost = costOf(ended);
      if ((best && !(cost < *best)) || !wholeGroups(ended)) continue;
      for (const auto& [name, machine] : world.machines())
        if (fitsWithout(name, ended, shape)) {
          best = cost;
          break;
        }
    }
    return best;
  }
};

EvictionCost anyStake(Rng& rng) {
  EvictionCost stake;
  stake.priority = static_cast<std::int64_t>(rng.below(4));
  stake.work_lost = static_cast<std::int64_t>(rng.below(10));
  if (rng.below(4) == 0) stake.group = "g" + std::to_string(rng.below(2));
  if (rng.below(3) == 0) stake.budget = "b" + std::to_string(rng.below(2));
  return stake;
}

TEST(Preemption, SmallClusters_CheapestAndNoVictimInVain) {
  Rng rng(31);
  unsigned found = 0, none = 0, several = 0, violated = 0;
  for (unsigned round = 0; round < 400; ++round) {
    some::Wild wild{rng};
    Pair pair;
    for (int i = 0; i < 2; ++i) pair.add(wild.node("n" + std::to_string(i)));
    pair.costs.budgets["b0"] = 1;
    for (unsigned i = 0; i < 40 && pair.placed.size() < 8; ++i)
      pair.place(wild.request("p" + std::to_string(i)), anyStake(rng));
    const Request request = wild.request("r");
    const auto before = pair.engine.allocations();
    const Usage usage = pair.engine.usage();
    const Request other = wild.request("other");
    const auto placement = pair.engine.decide(other)->placement;
    if (pair.engine.decide(request)->fits()) continue;
    const auto answer = pair.engine.preempt(request, 3, pair.costs);
    ASSERT_TRUE(answer) << answer.error().message();
    ASSERT_EQ(pair.engine.allocations(), before);
    ASSERT_EQ(pair.engine.usage().idle, usage.idle);
    ASSERT_EQ(pair.engine.usage().fragmented, usage.fragmented);
    ASSERT_FALSE(pair.engine.decide(request)->fits());
    ASSERT_EQ(pair.engine.decide(other)->placement, placement);
    const std::optional<PreemptionCost> cheapest = pair.cheapest(request.shape, 3);
    ASSERT_EQ(answer->has_value(), cheapest.has_value()) << round;
    if (!cheapest) {
      ++none;
      continue;
    }
    const Preemption& told = **answer;
    ++found;
    several += told.victims.size() > 1 ? 1 : 0;
    violated += told.cost.violations > 0 ? 1 : 0;
    ASSERT_EQ(told.cost, *cheapest) << round;
    ASSERT_EQ(told.cost, pair.costOf(told.victims));
    ASSERT_TRUE(pair.wholeGroups(told.victims));
    ASSERT_TRUE(pair.fitsWithout(told.node.text, told.victims, request.shape)) << round;
    for (const RequestId& spared : told.victims) {
      const std::string& group = pair.costs.of.at(spared).group;
      std::vector<RequestId> fewer;
      for (const RequestId& id : told.victims)
        if (id != spared && (group.empty() || pair.costs.of.at(id).group != group))
          fewer.push_back(id);
      ASSERT_FALSE(pair.fitsWithout(told.node.text, fewer, request.shape)) << round;
    }
    for (const RequestId& id : told.victims) ASSERT_TRUE(pair.engine.release(id));
    ASSERT_TRUE(pair.engine.decide(request)->fits()) << round;
  }
  EXPECT_GT(found, 50u);
  EXPECT_GT(none, 20u);
  EXPECT_GT(several, 10u);
  EXPECT_GT(violated, 2u);
}

// With more of them than every set can be tried of, each that ends is needed all the same.
TEST(Preemption, FortyTenants_NoVictimInVain) {
  Pair pair;
  Node node = some::node("n", 4);
  for (Device& device : node.devices) device.slots = 10;
  pair.add(node);
  for (int i = 0; i < 40; ++i) {
    EvictionCost stake;
    stake.work_lost = i;
    pair.place(some::request("p" + std::to_string(i), 1, 100, gib(8)), stake);
  }
  ASSERT_EQ(pair.placed.size(), 40u);
  const Request request = some::request("r", 2, 400, gib(1));
  const auto answer = pair.engine.preempt(request, 1, pair.costs);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->victims.size(), 8u);
  for (const RequestId& spared : (*answer)->victims) {
    std::vector<RequestId> fewer = (*answer)->victims;
    fewer.erase(std::find(fewer.begin(), fewer.end(), spared));
    EXPECT_FALSE(pair.fitsWithout("n", fewer, request.shape));
  }
  EXPECT_TRUE(pair.fitsWithout("n", (*answer)->victims, request.shape));
}

TEST(Preemption, LowerPriorityNamedInCosts_OnlyThoseEvicted) {
  Pair pair;
  pair.add(some::node("n", 1));
  pair.place(some::request("a", 1, 600), {5, 1, "", ""});
  const Request request = some::request("r", 1, 600);
  EXPECT_FALSE(*pair.engine.preempt(request, 5, pair.costs));
  EXPECT_EQ((*pair.engine.preempt(request, 6, pair.costs))->victims,
            std::vector<RequestId>{RequestId("a")});
  EXPECT_FALSE(*pair.engine.preempt(request, 6, EvictionCosts{}))
      << "who is not named is not asked";
  const auto fits = pair.engine.preempt(some::request("s", 1, 400), 6, pair.costs);
  ASSERT_FALSE(fits);
  EXPECT_NE(fits.error().message().find("fits as it is"), std::string::npos);
  EXPECT_FALSE(*pair.engine.preempt(some::request("t", 2, 400), 6, pair.costs));
  pair.costs.of[RequestId("a")].work_lost = -1;
  EXPECT_FALSE(pair.engine.preempt(request, 6, pair.costs));
}

}  // namespace
}  // namespace divvy::engine
