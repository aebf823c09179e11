// Who has to end for a whole gang: against every set and every way to put the members, counted with
// sums of its own; larger ones by what has to hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "some.h"

namespace divvy::engine {
namespace {

constexpr const char* kSwitch = "switch";
constexpr Instant kSoon{1};

// Nodes of devices on switches, and who is there.
struct Floor {
  Engine engine{Config{}};
  std::map<std::string, std::string> switch_of;  // by node
  std::map<std::string, std::vector<int>> left;  // by node: of each device
  std::map<RequestId, EvictionCost> there;
  EvictionCosts costs;

  void add(const std::string& name, const std::string& at, unsigned devices) {
    Node node = some::node(name, devices);
    node.labels = {{kSwitch, at}};
    ASSERT_TRUE(engine.setNode(node));
    switch_of[name] = at;
    left[name] = std::vector<int>(devices, 1000);
  }
  void take(const Placement& placement, int sign) {
    for (const Charge& charge : placement.charges) {
      const std::size_t slash = charge.uuid.text.rfind('/');
      left[placement.node.text][std::stoul(charge.uuid.text.substr(slash + 1))] -=
          sign * charge.compute.milli;
    }
  }
  void place(const Request& request, const EvictionCost& stake) {
    const Result<Allocation> given = engine.place(request, kSoon);
    if (!given) return;
    take(given->placement, 1);
    costs.of[request.id] = stake;
  }
};

struct Member {
  unsigned devices = 1;
  int compute = 1000;
};
using Free = std::map<std::string, std::vector<int>>;

// Every set of devices for every member, one after the other.
bool canPut(Free* free, const std::vector<Member>& members, std::size_t at,
            const std::function<bool(const std::string&)>& allowed) {
  if (at == members.size()) return true;
  const Member& one = members[at];
  for (auto& [name, devices] : *free) {
    if (!allowed(name)) continue;
    for (unsigned set = 0; set < 1u << devices.size(); ++set) {
      if (static_cast<unsigned>(__builtin_popcount(set)) != one.devices) continue;
      bool good = true;
      for (std::size_t i = 0; i < devices.size(); ++i)
        good = good && ((set >> i & 1) == 0 || devices[i] >= one.compute);
      if (!good) continue;
      const std::vector<int> before = devices;
      for (std::size_t i = 0; i < devices.size(); ++i)
        if ((set >> i & 1) != 0) devices[i] -= one.compute;
      const bool all = canPut(free, members, at + 1, allowed);
      devices = before;
      if (all) return true;
    }
  }
  return false;
}

bool canPut(Floor& floor, const std::vector<Member>& members, bool one_switch) {
  if (!one_switch) return canPut(&floor.left, members, 0, [](const auto&) { return true; });
  for (const auto& [first, at] : floor.switch_of)
    if (canPut(&floor.left, members, 0,
               [&, at = at](const std::string& name) { return floor.switch_of.at(name) == at; }))
      return true;
  return false;
}

PreemptionCost costOf(const EvictionCosts& costs, const std::vector<RequestId>& ended) {
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
    const std::int64_t least = allowed == costs.budgets.end() ? 0 : allowed->second;
    cost.violations += std::max<std::int64_t>(count - least, 0);
  }
  return cost;
}

bool wholeGroups(const EvictionCosts& costs, const std::vector<RequestId>& ended) {
  for (const RequestId& id : ended) {
    const std::string& group = costs.of.at(id).group;
    if (group.empty()) continue;
    for (const auto& [other, stake] : costs.of)
      if (stake.group == group && std::find(ended.begin(), ended.end(), other) == ended.end())
        return false;
  }
  return true;
}

std::optional<PreemptionCost> cheapest(Floor& floor, const std::vector<Member>& members,
                                       bool one_switch, std::int64_t priority) {
  std::vector<RequestId> lower;
  for (const auto& [id, stake] : floor.costs.of)
    if (stake.priority < priority) lower.push_back(id);
  std::optional<PreemptionCost> best;
  for (std::uint32_t set = 1; set < 1u << lower.size(); ++set) {
    std::vector<RequestId> ended;
    for (std::size_t i = 0; i < lower.size(); ++i)
      if ((set >> i & 1) != 0) ended.push_back(lower[i]);
    const PreemptionCost cost = costOf(floor.costs, ended);
    if ((best && !(cost < *best)) || !wholeGroups(floor.costs, ended)) continue;
    for (const RequestId& id : ended) floor.take(floor.engine.find(id)->placement, -1);
    if (canPut(floor, members, one_switch)) best = cost;
    for (const RequestId& id : ended) floor.take(floor.engine.find(id)->placement, 1);
  }
  return best;
}

Gang gangOf(const std::vector<Member>& members, bool one_switch) {
  Gang gang;
  for (std::size_t i = 0; i < members.size(); ++i)
    gang.members.push_back(
        some::request("gang/" + std::to_string(i), members[i].devices, members[i].compute));
  gang.levels = {kSwitch};
  if (one_switch) gang.required = 0;
  return gang;
}

EvictionCost anyStake(Rng& rng, unsigned groups) {
  EvictionCost stake;
  stake.priority = static_cast<std::int64_t>(rng.below(4));
  stake.work_lost = static_cast<std::int64_t>(rng.below(10));
  if (rng.below(4) == 0) stake.group = "g" + std::to_string(rng.below(groups));
  if (rng.below(3) == 0) stake.budget = "b" + std::to_string(rng.below(2));
  return stake;
}

std::vector<Member> anyMembers(Rng& rng, std::size_t count, bool alike) {
  const std::vector<int> computes{250, 500, 600, 1000};
  std::vector<Member> members;
  for (std::size_t i = 0; i < count; ++i) {
    Member one{rng.below(4) == 0 ? 2u : 1u, computes[rng.below(computes.size())]};
    if (one.devices == 2) one.compute = 1000;
    members.push_back(alike && i > 0 ? members[0] : one);
  }
  return members;
}

void fill(Rng& rng, Floor* floor, std::size_t most, unsigned groups) {
  const std::vector<int> computes{200, 400, 500, 700, 1000};
  for (unsigned i = 0; i < 4 * most && floor->costs.of.size() < most; ++i)
    floor->place(some::request("p" + std::to_string(i), rng.below(5) == 0 ? 2 : 1,
                               computes[rng.below(computes.size())]),
                 anyStake(rng, groups));
}

// What holds of every answer; the engine is as before.
void holds(Floor& floor, const Gang& gang, std::int64_t priority, const GangPreemption& told) {
  ASSERT_FALSE(told.victims.empty());
  ASSERT_TRUE(std::is_sorted(told.victims.begin(), told.victims.end()));
  ASSERT_EQ(told.cost, costOf(floor.costs, told.victims));
  ASSERT_TRUE(wholeGroups(floor.costs, told.victims));
  std::map<std::string, std::vector<Allocation>> units;
  for (const RequestId& id : told.victims) {
    const EvictionCost& stake = floor.costs.of.at(id);
    ASSERT_LT(stake.priority, priority);
    units[stake.group.empty() ? "alone " + id.text : stake.group].push_back(*floor.engine.find(id));
  }
  for (const RequestId& id : told.victims) ASSERT_TRUE(floor.engine.release(id));
  for (const auto& [name, members] : units) {
    for (const Allocation& each : members) ASSERT_TRUE(floor.engine.adopt(each));
    ASSERT_FALSE(floor.engine.placeGang(gang, kSoon)) << name << " ends in vain";
    for (const Allocation& each : members) ASSERT_TRUE(floor.engine.release(each.id));
  }
  const auto placed = floor.engine.placeGang(gang, kSoon);
  ASSERT_TRUE(placed) << placed.error().message();
  for (const Request& member : gang.members) ASSERT_TRUE(floor.engine.release(member.id));
  for (const auto& [name, members] : units)
    for (const Allocation& each : members) ASSERT_TRUE(floor.engine.adopt(each));
}

TEST(GangPreemption, SmallClusters_CheapestOfEverySet) {
  Rng rng(77);
  unsigned found = 0, none = 0, several = 0, dearer = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Floor floor;
    for (unsigned n = 0; n < 3; ++n)
      floor.add("n" + std::to_string(n), "s" + std::to_string(n / 2),
                1 + static_cast<unsigned>(rng.below(2)));
    floor.costs.budgets["b0"] = 1;
    fill(rng, &floor, 7, 2);
    const bool alike = rng.below(2) == 0;
    const bool one_switch = rng.below(2) == 0;
    const std::vector<Member> members = anyMembers(rng, 1 + rng.below(3), alike);
    const Gang gang = gangOf(members, one_switch);
    const auto before = floor.engine.allocations();
    const Usage usage = floor.engine.usage();
    const auto answer = floor.engine.preemptGang(gang, 3, floor.costs);
    ASSERT_EQ(floor.engine.allocations(), before);
    ASSERT_EQ(floor.engine.usage().idle, usage.idle);
    if (!answer) {
      ASSERT_EQ(answer.error().code(), ErrorCode::kUsage);
      ASSERT_TRUE(floor.engine.placeGang(gang, kSoon)) << answer.error().message();
      continue;
    }
    const auto best = cheapest(floor, members, one_switch, 3);
    if (!*answer) {
      ++none;
      ASSERT_FALSE(best && alike) << round;
      continue;
    }
    ++found;
    ASSERT_TRUE(best) << round;
    ASSERT_GE((*answer)->cost, *best) << round;
    dearer += (*answer)->cost == *best ? 0 : 1;
    ASSERT_TRUE(!alike || (*answer)->cost == *best) << round;
    several += (*answer)->victims.size() > 1 ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(holds(floor, gang, 3, **answer)) << round;
  }
  RecordProperty("found", static_cast<int>(found));
  RecordProperty("dearer", static_cast<int>(dearer));
  EXPECT_GT(found, 100u);
  EXPECT_GT(none, 20u);
  EXPECT_GT(several, 50u);
  EXPECT_LE(dearer * 50, found) << "members are put greedily; rarely that costs more";
}

TEST(GangPreemption, LargeClusters_NoVictimInVain) {
  Rng rng(78);
  unsigned found = 0;
  for (unsigned round = 0; round < 12; ++round) {
    Floor floor;
    for (unsigned n = 0; n < 16; ++n)
      floor.add("n" + std::to_string(n), "s" + std::to_string(n / 4), 4);
    floor.costs.budgets["b0"] = 3;
    fill(rng, &floor, 120, 6);
    const Gang gang = gangOf(anyMembers(rng, 2 + rng.below(9), round % 2 == 0), round % 3 == 0);
    const auto answer = floor.engine.preemptGang(gang, 3, floor.costs);
    if (!answer || !*answer) continue;
    ++found;
    ASSERT_NO_FATAL_FAILURE(holds(floor, gang, 3, **answer)) << round;
  }
  EXPECT_GT(found, 6u);
}

TEST(GangPreemption, InvalidOrFittingGang_Refused) {
  Floor floor;
  floor.add("n", "s", 1);
  floor.place(some::request("a", 1, 600), {5, 1, "", ""});
  const Gang gang = gangOf({{1, 500}}, false);
  EXPECT_FALSE(*floor.engine.preemptGang(gang, 5, floor.costs)) << "of equal priority";
  EXPECT_FALSE(*floor.engine.preemptGang(gang, 6, EvictionCosts{}))
      << "who is not named is not asked";
  EXPECT_EQ((*floor.engine.preemptGang(gang, 6, floor.costs))->victims,
            std::vector<RequestId>{RequestId("a")});
  EXPECT_FALSE(*floor.engine.preemptGang(gangOf({{1, 500}, {1, 600}}, false), 6, floor.costs));
  const auto fits = floor.engine.preemptGang(gangOf({{1, 400}}, false), 6, floor.costs);
  ASSERT_FALSE(fits);
  EXPECT_NE(fits.error().message().find("fits as it is"), std::string::npos);
  EXPECT_FALSE(floor.engine.preemptGang(Gang{}, 6, floor.costs));
  floor.costs.of[RequestId("a")].work_lost = -1;
  EXPECT_FALSE(floor.engine.preemptGang(gang, 6, floor.costs));
}

}  // namespace
}  // namespace divvy::engine
