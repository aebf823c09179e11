// Gangs: all or none, and near to each other.
#include "engine/gang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "some.h"

namespace divvy::engine {
namespace {

constexpr const char* kRack = "rack";
constexpr const char* kSwitch = "switch";

// Racks of switches of nodes of devices.
struct Hall {
  Engine engine{Config{}};
  std::map<std::string, std::vector<std::string>> where;  // node -> rack, switch

  void add(const std::string& rack, const std::string& sw, const std::string& name,
           unsigned devices) {
    Node node = some::node(name, devices);
    node.labels = {{kRack, rack}, {kSwitch, sw}};
    ASSERT_TRUE(engine.setNode(node));
    where[name] = {rack, sw};
  }
  void fill(unsigned racks, unsigned switches, unsigned nodes, unsigned devices) {
    for (unsigned r = 0; r < racks; ++r)
      for (unsigned s = 0; s < switches; ++s)
        for (unsigned n = 0; n < nodes; ++n) {
          const std::string sw = std::to_string(r) + "." + std::to_string(s);
          add("r" + std::to_string(r), "s" + sw, "n" + sw + "." + std::to_string(n), devices);
        }
  }
  std::set<std::string> switchesOf(const GangPlacement& placed) const {
    std::set<std::string> all;
    for (const Allocation& each : placed.members) all.insert(where.at(each.placement.node.text)[1]);
    return all;
  }
};

Gang gang(const std::string& name, std::size_t members, unsigned devices = 1) {
  Gang result;
  for (std::size_t i = 0; i < members; ++i)
    result.members.push_back(some::request(name + "/" + std::to_string(i), devices, 1000));
  result.levels = {kRack, kSwitch};
  return result;
}

TEST(GangPlacer, SeveralSwitchesFit_TightestTaken) {
  Hall hall;
  hall.fill(2, 2, 2, 4);
  ASSERT_TRUE(hall.engine.placeGang(gang("a", 3), Instant{1}));
  const auto placed = hall.engine.placeGang(gang("b", 5), Instant{1});
  ASSERT_TRUE(placed) << placed.error().message();
  ASSERT_EQ(placed->where.size(), 2u);
  EXPECT_EQ(hall.switchesOf(*placed).size(), 1u);
  EXPECT_EQ(hall.switchesOf(*placed),
            (std::set<std::string>{
                hall.where.at(hall.engine.find(RequestId("a/0"))->placement.node.text)[1]}))
      << "beside the other: what is empty stays whole";
}

TEST(GangPlacer, LargeGang_FewestSwitches) {
  Hall hall;
  hall.fill(2, 4, 2, 4);
  const auto placed = hall.engine.placeGang(gang("a", 20), Instant{1});
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_EQ(placed->where.size(), 1u) << "one rack";
  EXPECT_EQ(hall.switchesOf(*placed).size(), 3u);
  const auto wide = hall.engine.placeGang(gang("b", 40), Instant{1});
  ASSERT_TRUE(wide) << wide.error().message();
  EXPECT_TRUE(wide->where.empty());
  EXPECT_EQ(hall.switchesOf(*wide).size(), 5u) << "all that were empty";
}

TEST(GangPlacer, RequiredLevelTooSmall_NoMemberPlaced) {
  Hall hall;
  hall.fill(2, 2, 1, 4);
  Gang five = gang("a", 5);
  five.required = 1;
  const auto refused = hall.engine.placeGang(five, Instant{1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoRoom);
  EXPECT_EQ(refused.error().message(),
            "4 of 5 members fit at most on nodes of one switch; all start together or none");
  EXPECT_TRUE(hall.engine.allocations().empty());
  five.required = 0;
  EXPECT_TRUE(hall.engine.placeGang(five, Instant{1}));
  Gang nine = gang("b", 12);
  nine.required = 0;
  EXPECT_FALSE(hall.engine.placeGang(nine, Instant{1}));
  EXPECT_EQ(hall.engine.allocations().size(), 5u);
}

TEST(GangPlacer, NodesWithoutLabels_NotTogetherWithOthers) {
  Hall hall;
  hall.fill(1, 1, 1, 2);
  ASSERT_TRUE(hall.engine.setNode(some::node("lone", 8)));
  const auto placed = hall.engine.placeGang(gang("a", 6), Instant{1});
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_TRUE(placed->where.empty());
  for (const Allocation& each : placed->members) EXPECT_EQ(each.placement.node.text, "lone");
  Gang needs = gang("b", 3);
  needs.required = 0;
  EXPECT_FALSE(hall.engine.placeGang(needs, Instant{1}));
}

TEST(GangPlacer, MembersOfSeveralSizes_KeepTheirPlaces) {
  Hall hall;
  hall.fill(1, 1, 2, 4);
  Gang mixed = gang("a", 4);
  mixed.members[3] = some::request("a/large", 4, 1000);
  const auto placed = hall.engine.placeGang(mixed, Instant{1});
  ASSERT_TRUE(placed) << placed.error().message();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(placed->members[i].id, mixed.members[i].id);
  EXPECT_EQ(placed->members[3].placement.charges.size(), 4u);
}

TEST(GangPlacer, InvalidGang_RefusedWithAccepted) {
  Hall hall;
  hall.fill(1, 1, 1, 4);
  const auto says = [&](const Gang& wrong, const std::string& part) {
    const auto placed = hall.engine.placeGang(wrong, Instant{1});
    ASSERT_FALSE(placed) << part;
    EXPECT_EQ(placed.error().code(), ErrorCode::kUsage);
    EXPECT_NE(placed.error().message().find(part), std::string::npos) << placed.error().message();
    EXPECT_TRUE(hall.engine.allocations().empty());
  };
  says(Gang{}, "a gang of 0; accepted: 1 to");
  Gang wrong = gang("a", 2);
  wrong.members[1] = wrong.members[0];
  says(wrong, "twice");
  wrong = gang("a", 2);
  wrong.required = 2;
  says(wrong, "accepted: one of the 2");
  wrong = gang("a", 2);
  wrong.members[1].shape.containers[0].devices.compute = {1001};
  says(wrong, "a/1");
  wrong = gang("a", 2);
  wrong.members[1].id = RequestId();
  says(wrong, "without an id");
}

// Of members that are all alike it is known how many fit: the narrowest level is found.
TEST(GangPlacer, EqualMembers_NarrowestLevelFound) {
  Rng rng(5);
  std::array<unsigned, 4> seen{};
  for (int round = 0; round < 300; ++round) {
    Hall hall;
    std::map<std::string, std::size_t> of_switch, of_rack;
    std::size_t all = 0;
    const unsigned each = 1 + static_cast<unsigned>(rng.below(2));
    for (int n = 0; n < 8; ++n) {
      const std::string rack = "r" + std::to_string(rng.below(2));
      const std::string sw = rack + "s" + std::to_string(rng.below(3));
      const unsigned devices = 1 + static_cast<unsigned>(rng.below(4));
      hall.add(rack, sw, "n" + std::to_string(n), devices);
      of_switch[sw] += devices / each;
      of_rack[rack] += devices / each;
      all += devices / each;
    }
    const std::size_t members = 1 + rng.below(all + 2);
    const auto any = [&](const std::map<std::string, std::size_t>& of) {
      return std::any_of(of.begin(), of.end(),
                         [&](const auto& one) { return one.second >= members; });
    };
    const std::size_t level = any(of_switch) ? 2 : any(of_rack) ? 1 : members <= all ? 0 : 3;
    const auto placed = hall.engine.placeGang(gang("g", members, each), Instant{1});
    ASSERT_EQ(placed.has_value(), level != 3) << round;
    ++seen[level];
    if (!placed) {
      ASSERT_TRUE(hall.engine.allocations().empty());
      continue;
    }
    ASSERT_EQ(placed->where.size(), level) << round;
    ASSERT_EQ(hall.engine.allocations().size(), members);
  }
  for (const unsigned times : seen) EXPECT_GT(times, 10u);
}

TEST(GangPlacer, ThousandGangsUnderContention_AllRunComplete) {
  Rng rng(9);
  Hall hall;
  hall.fill(4, 4, 2, 4);  // 128 devices
  struct Waiting {
    Gang gang;
    int ends = 0;
  };
  std::deque<Waiting> waiting;
  for (int i = 0; i < 1000; ++i) {
    Gang one = gang("g" + std::to_string(i), 2 + rng.below(63));
    if (rng.below(3) == 0 && one.members.size() <= 32) one.required = 0;
    waiting.push_back({std::move(one)});
  }
  std::vector<Waiting> running;
  std::size_t booked = 0, done = 0, refused = 0;
  bool changed = true;  // since nobody who waited could start
  for (int now = 0; !waiting.empty() || !running.empty(); ++now) {
    ASSERT_LT(now, 100000) << "somebody waits for ever";
    for (auto at = running.begin(); at != running.end();) {
      if (at->ends > now) {
        ++at;
        continue;
      }
      for (const Request& member : at->gang.members) ASSERT_TRUE(hall.engine.release(member.id));
      booked -= at->gang.members.size();
      ++done;
      changed = true;
      at = running.erase(at);
    }
    // Any of the first four: who comes first does not stand in everybody's way.
    const std::size_t looked_at = std::exchange(changed, false) ? 4 : 0;
    for (std::size_t i = 0; i < std::min(waiting.size(), looked_at); ++i) {
      Waiting& one = waiting[i];
      const auto placed = hall.engine.placeGang(one.gang, Instant{now + 1});
      if (placed) {
        ASSERT_EQ(placed->members.size(), one.gang.members.size());
        booked += one.gang.members.size();
        for (const Request& member : one.gang.members) ASSERT_TRUE(hall.engine.confirm(member.id));
        one.ends = now + 1 + static_cast<int>(rng.below(10));
        running.push_back(std::move(one));
        waiting.erase(waiting.begin() + static_cast<long>(i));
        --i;
      } else {
        ++refused;
        ASSERT_EQ(placed.error().code(), ErrorCode::kNoRoom) << placed.error().message();
      }
      ASSERT_EQ(hall.engine.usage().used, static_cast<std::int64_t>(booked) * 1000);
    }
    ASSERT_TRUE(hall.engine.expire(Instant{now}).empty()) << "all that run were confirmed";
  }
  EXPECT_EQ(done, 1000u);
  EXPECT_GT(refused, 1000u) << "there was no contention";
  EXPECT_TRUE(hall.engine.allocations().empty());
}

}  // namespace
}  // namespace divvy::engine
