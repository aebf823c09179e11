// Devices that are taken in whole blocks and in runs of neighbours, against trying every set.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/engine.h"
#include "some.h"

namespace divvy::engine {
namespace {

// Pairs of modules, as of an Ascend 910C node.
Node modules(unsigned pairs) {
  Node node = some::node("n", 2 * pairs);
  for (unsigned i = 0; i < node.devices.size(); ++i) node.devices[i].block = i / 2;
  return node;
}

Node row(unsigned devices, const std::vector<std::uint32_t>& runs) {
  Node node = some::node("n", devices);
  for (unsigned i = 0; i < devices; ++i) node.devices[i].row = InRow{i, runs};
  return node;
}

std::string placesOf(const Result<Allocation>& given) {
  if (!given) return "none";
  std::string all;
  for (const Charge& charge : given->placement.charges)
    all += (all.empty() ? "" : " ") + charge.uuid.text.substr(2);
  return all;
}

TEST(BlockTopology, ModulesOfTwo_TakenEntirely) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(modules(4)));
  Request second = some::request("a", 2, 1000);
  second.shape.selector.not_uuids = {DeviceUuid("n/0"), DeviceUuid("n/5")};
  EXPECT_EQ(placesOf(engine.place(second, Instant{1})), "2 3");
  EXPECT_EQ(placesOf(engine.place(some::request("b", 4, 1000), Instant{1})), "0 1 4 5");
  const auto odd = engine.explain(some::request("c", 1, 1000));
  EXPECT_EQ(text(odd->refusals.at(0)),
            "container 0 needs 1 device of a block that is allocated as one, 0 fit");
  EXPECT_EQ(odd->refusals[0].why, NodeWhy::kBlocks);
}

TEST(BlockTopology, Runs_BeginAtAllowedPlaces) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(row(16, {1, 4, 8, 16})));
  EXPECT_EQ(placesOf(engine.place(some::request("a", 1, 1000), Instant{1})), "0");
  EXPECT_EQ(placesOf(engine.place(some::request("b", 4, 1000), Instant{1})), "4 5 6 7");
  EXPECT_EQ(placesOf(engine.place(some::request("c", 8, 1000), Instant{1})),
            "8 9 10 11 12 13 14 15");
  const auto refused = engine.explain(some::request("d", 3, 1000));
  ASSERT_FALSE(refused->fits());
  EXPECT_EQ(refused->refusals.at(0).why, NodeWhy::kRow);
  EXPECT_EQ(text(refused->refusals[0]), "container 0 needs 3 devices that are neighbours, 1 fits");
  const auto remedies = engine.remedies(some::request("d", 3, 1000), NodeName("n"));
  ASSERT_EQ(remedies->size(), 1u);
  EXPECT_EQ(text((*remedies)[0]), "ask for 1 instead of 3 devices in container 0");
}

TEST(BlockTopology, NoRunLengths_AnyNeighboursTaken) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(row(6, {})));
  Request request = some::request("a", 3, 1000);
  request.shape.selector.not_uuids = {DeviceUuid("n/1")};
  EXPECT_EQ(placesOf(engine.place(request, Instant{1})), "2 3 4");
  EXPECT_FALSE(engine.place(some::request("b", 3, 1000), Instant{1}));
  EXPECT_EQ(placesOf(engine.place(some::request("b", 2, 1000), Instant{1})), "0 1");
}

// Less is not always easier to have: two are a module, and three are not.
TEST(BlockTopology, OddCountOfModules_SuggestionIsFullModule) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(modules(2)));
  const auto remedies = engine.remedies(some::request("a", 3, 1000), NodeName("n"));
  ASSERT_EQ(remedies->size(), 1u);
  EXPECT_EQ(text((*remedies)[0]), "ask for 2 instead of 3 devices in container 0");
}

TEST(BlockTopology, ReserveHalfModule_Refused) {
  Engine engine(Config{});
  ASSERT_TRUE(engine.setNode(modules(2)));
  const auto decided = engine.decide(some::request("a", 2, 1000));
  Placement other = *decided->placement;
  other.containers[0][1].uuid = other.charges[1].uuid = DeviceUuid("n/2");
  EXPECT_FALSE(engine.reserve(some::request("a", 2, 1000), other, Instant{1}));
  EXPECT_TRUE(engine.reserve(some::request("a", 2, 1000), *decided->placement, Instant{1}));
}

TEST(BlockTopology, PlaceTwiceInRow_NodeRefused) {
  Engine engine(Config{});
  Node node = row(3, {});
  node.devices[2].row->place = 1;
  EXPECT_EQ(engine.setNode(node).error().message(),
            "node n, device n/2: place 1 of the row is another one's");
}

// ---- by chance
// -----------------------------------------------------------------------------------

bool mayBeTaken(const Node& node, unsigned set) {
  std::set<std::uint32_t> places;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    for (std::size_t k = 0; k < node.devices.size(); ++k) {
      const bool same = node.devices[i].block && node.devices[k].block == node.devices[i].block;
      if (same && (set >> k & 1) == 0) return false;
    }
    if (node.devices[i].row) places.insert(node.devices[i].row->place);
  }
  if (places.empty()) return true;
  for (const std::uint32_t place : places)
    if (place != *places.rbegin() && places.count(place + 1) == 0) return false;
  const auto& runs = node.devices[0].row->runs;
  const auto count = static_cast<std::uint32_t>(places.size());
  return runs.empty() ||
         (std::count(runs.begin(), runs.end(), count) > 0 && *places.begin() % count == 0);
}

bool placeable(const Node& node, unsigned busy, const std::vector<unsigned>& counts,
               std::size_t at = 0) {
  if (at == counts.size()) return true;
  for (unsigned set = 1; set < 1u << node.devices.size(); ++set) {
    if ((set & busy) != 0 || static_cast<unsigned>(__builtin_popcount(set)) != counts[at]) continue;
    if (mayBeTaken(node, set) && placeable(node, busy | set, counts, at + 1)) return true;
  }
  return false;
}

TEST(BlockTopology, RandomNodes_AgreesWithEverySet) {
  Rng rng(41);
  unsigned fits = 0;
  unsigned refused = 0;
  for (unsigned round = 0; round < 1200; ++round) {
    const std::uint64_t sort = rng.below(3);
    Node node = sort == 0   ? modules(static_cast<unsigned>(1 + rng.below(4)))
                : sort == 1 ? row(static_cast<unsigned>(1 + rng.below(8)), {})
                            : row(static_cast<unsigned>(1 + rng.below(8)), {1, 2, 4});
    unsigned busy = 0;
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      if (rng.below(4) != 0) continue;
      node.devices[i].health = Health::kUnhealthy;
      busy |= 1u << i;
    }
    Engine engine(Config{kPolicies[round % kPolicies.size()], round});
    ASSERT_TRUE(engine.setNode(node));
    for (unsigned k = 0; k < 5; ++k) {
      Request request = some::request("r" + std::to_string(k), 0, 0);
      request.shape.containers.clear();
      std::vector<unsigned> counts;
      do {
        counts.push_back(static_cast<unsigned>(1 + rng.below(4)));
        request.shape.containers.push_back({{}, {}, {counts.back(), Bytes{}, kWholeDevice}});
      } while (rng.below(3) == 0);
      const auto decision = engine.explain(request);
      ASSERT_EQ(decision->fits(), placeable(node, busy, counts)) << round << "/" << k;
      ASSERT_EQ(decision->fits(), decision->refusals.empty());
      ++(decision->fits() ? fits : refused);
      if (!decision->fits()) continue;
      const auto given = engine.place(request, Instant{1});
      for (const auto& shares : given->placement.containers) {
        unsigned set = 0;
        for (const Share& share : shares) set |= 1u << std::stoul(share.uuid.text.substr(2));
        ASSERT_TRUE(mayBeTaken(node, set)) << round << ": " << set;
        ASSERT_EQ(busy & set, 0u);
        busy |= set;
      }
    }
  }
  EXPECT_GT(fits, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace divvy::engine
