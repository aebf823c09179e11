// Devices that are split as their hardware does it: one device, and what is told.
#include "nodes/partitioning.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"
#include "some.h"
#include "some_partings.h"

namespace divvy::engine {
namespace {

using some::quarters;
using some::sevenths;
using some::sums;

// ---- one device ---------------------------------------------------------------------------------

// Every set of instances that a card can come to have, each with what was asked in any order.
void expectEveryPlace(const Partitioning& parting) {
  for (std::uint32_t taken = 0; taken < 1u << parting.slices; ++taken) {
    for (const DevicePart& part : parting.parts) {
      bool possible = false;
      for (const std::uint32_t start : part.starts) {
        bool free = true;
        for (std::uint32_t i = start; i < start + part.size; ++i) free &= (taken >> i & 1) == 0;
        possible |= free;
      }
      const auto ways = waysFor(parting, {0, 0, 0, taken}, {part.name, 0, 0});
      ASSERT_EQ(!ways.empty(), possible) << taken << " " << part.name.text;
      for (const PartPick& way : ways) {
        ASSERT_EQ(slicesOf(parting.parts[way.part], way.start) & taken, 0u);
      }
    }
  }
}

TEST(Partitioning, EveryOccupancy_FreePlacesFound) {
  expectEveryPlace(*sevenths(10));
  expectEveryPlace(*quarters());
}

// How many of that part at most, by trying all sets of places.
std::uint32_t triedMost(const DevicePart& part, std::uint32_t taken) {
  std::uint32_t most = 0;
  for (std::uint32_t set = 0; set < 1u << part.starts.size(); ++set) {
    std::uint32_t all = taken;
    bool good = true;
    for (std::size_t k = 0; k < part.starts.size(); ++k) {
      if ((set >> k & 1) == 0) continue;
      for (std::uint32_t i = part.starts[k]; i < part.starts[k] + part.size; ++i) {
        good &= (all >> i & 1) == 0;
        all |= 1u << i;
      }
    }
    if (good) most = std::max(most, static_cast<std::uint32_t>(__builtin_popcount(set)));
  }
  return most;
}

// The first way leaves more of the largest parts than any other.
TEST(Partitioning, FirstPlace_KeepsMostOfLargestParts) {
  for (const auto& parting : {sevenths(10), quarters()}) {
    const auto worth = [&](std::uint32_t taken) {
      std::vector<std::uint32_t> counts;
      for (auto part = parting->parts.rbegin(); part != parting->parts.rend(); ++part) {
        counts.push_back(triedMost(*part, taken));
      }
      return counts;
    };
    // Of two slices each the one with more compute is the larger; so it is written in the table.
    for (std::uint32_t taken = 0; taken < 1u << parting->slices; ++taken) {
      for (const DevicePart& part : parting->parts) {
        const auto ways = waysFor(*parting, {0, 0, 0, taken}, {part.name, 0, 0});
        for (const PartPick& way : ways) {
          ASSERT_GE(worth(taken | slicesOf(part, ways[0].start)),
                    worth(taken | slicesOf(part, way.start)));
        }
      }
    }
  }
}

TEST(Partitioning, EmptyDevice_SmallPartsAtEnd) {
  const auto parting = sevenths(10);
  const auto first = [&](const char* name, std::uint32_t taken) {
    return waysFor(*parting, {0, 0, 0, taken}, {PartName(name), 0, 0}).at(0).start;
  };
  EXPECT_EQ(first("1g", 0), 6u);  // 4g and 3 of 2g are still possible
  EXPECT_EQ(first("2g", 0), 4u);  // 4g is
  EXPECT_EQ(first("3g", 0), 4u);  // 4g is
  EXPECT_EQ(first("1g", 0b1100'0000), 5u);
  EXPECT_EQ(first("1g", 0b0000'1111), 6u);  // 2g is, from 4 on
}

TEST(Partitioning, MemoryAndComputeRequest_SmallestSufficientFirst) {
  const auto parting = sevenths(10);
  const auto named = [&](PartRequest wish, std::uint32_t taken) {
    const auto ways = waysFor(*parting, {0, 0, 0, taken}, wish);
    return ways.empty() ? "none" : parting->parts[ways[0].part].name.text;
  };
  const auto bytes = [](std::uint64_t count) {
    return PartRequest{{}, static_cast<std::int64_t>(gib(count).count), 0};
  };
  EXPECT_EQ(named(bytes(0), 0), "1g");
  EXPECT_EQ(named(bytes(10), 0), "1g");
  EXPECT_EQ(named(bytes(11), 0), "1g.big");
  EXPECT_EQ(named(bytes(21), 0), "3g");
  EXPECT_EQ(named(bytes(41), 0), "7g");
  EXPECT_EQ(named(bytes(81), 0), "none");
  EXPECT_EQ(named({{}, static_cast<std::int64_t>(gib(11).count), 200}, 0), "2g");
  EXPECT_EQ(named(bytes(11), 0b0011'1111), "1g.big");
  EXPECT_EQ(named(bytes(5), 0b0111'1111), "none");
}

TEST(Partitioning, ImpossibleHardware_Refused) {
  const auto said = [](const Partitioning& parting) {
    const Result<void> checked = checkParting(parting, "card");
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(said(*sevenths(10)), "");
  EXPECT_EQ(said(*quarters()), "");
  EXPECT_EQ(said(*sums()), "");
  Partitioning wrong = *quarters();
  wrong.parts[1].starts = {0, 3};
  EXPECT_EQ(said(wrong), "card, part 2g: 2 slices from 3 on; accepted: within 4");
  wrong = *quarters();
  wrong.parts[1].name = PartName("1g");
  EXPECT_EQ(said(wrong), "card, part 1g: twice");
  wrong = *quarters();
  wrong.parts[1].memory = gib(1);
  EXPECT_NE(said(wrong), "");
  wrong = *sums();
  wrong.parts[0].size = 1;
  EXPECT_NE(said(wrong), "");
  wrong = *quarters();
  wrong.slices = 17;
  EXPECT_NE(said(wrong), "");
}

// ---- what is told -------------------------------------------------------------------------------

class PartitionedNodeTest : public testing::Test {
 protected:
  // A card in MIG mode, one that is split by sums, and one that cannot be split.
  void SetUp() override {
    Node node = some::node("n", 3);
    node.devices[0].mode = Mode::kMig;
    node.devices[0].parting = sevenths(10);
    node.devices[1].memory = gib(24);
    node.devices[1].parting = sums();
    ASSERT_TRUE(engine_.setNode(node));
  }
  static Request part(const std::string& id, const std::string& name, unsigned count = 1) {
    Request request = some::request(id, count, 0);
    request.shape.containers[0].devices.part = PartName(name);
    return request;
  }
  std::vector<std::string> said(const Request& request) {
    const auto decision = engine_.explain(request);
    EXPECT_TRUE(decision);
    std::vector<std::string> texts;
    if (decision->fits()) return texts;
    for (const DeviceRefusal& one : decision->refusals.at(0).devices) texts.push_back(text(one));
    return texts;
  }
  using Texts = std::vector<std::string>;

  Engine engine_{Config{}};
};

TEST_F(PartitionedNodeTest, RefusedPart_ReasonPerDevice) {
  const std::string no_part = "never has such a part";
  ASSERT_TRUE(engine_.place(part("a", "4g"), Instant{1}));
  EXPECT_EQ(said(part("b", "4g")),
            (Texts{"no place for such a part beside those in use", no_part, no_part}));
  EXPECT_EQ(said(part("b", "5g")), (Texts{no_part, no_part, no_part}));
  ASSERT_TRUE(engine_.place(part("v", "vir04"), Instant{1}));
  // Compute would do for one more, and memory; its processors would not.
  EXPECT_EQ(said(part("b", "vir04")),
            (Texts{no_part, "needs 4, 3 free of its processors", no_part}));
  Request share = some::request("s", 3, 100, gib(1));
  EXPECT_EQ(said(share),
            (Texts{"partitioned (MIG)", "in use in parts, or shared by time: not both"}));
  Request whole = some::request("w", 1, 1000);
  ASSERT_TRUE(engine_.place(whole, Instant{1}));
  EXPECT_EQ(engine_.find(RequestId("w"))->placement.charges[0].uuid.text, "n/2");
}

TEST_F(PartitionedNodeTest, DeviceSharedByTime_NotPartitioned) {
  Request share = some::request("s", 1, 100, gib(1));
  share.shape.selector.uuids = {DeviceUuid("n/1")};
  ASSERT_TRUE(engine_.place(share, Instant{1}));
  EXPECT_EQ(said(part("b", "vir01"))[1], "in use in parts, or shared by time: not both");
  ASSERT_TRUE(engine_.release(RequestId("s")));
  EXPECT_TRUE(said(part("b", "vir01")).empty());
}

TEST_F(PartitionedNodeTest, SeveralParts_OnOneDevice) {
  const auto given = engine_.place(part("a", "2g", 3), Instant{1});
  ASSERT_TRUE(given);
  const std::vector<Share>& shares = given->placement.containers.at(0);
  ASSERT_EQ(shares.size(), 3u);
  ASSERT_EQ(given->placement.charges.size(), 1u);
  EXPECT_EQ(given->placement.charges[0].slices, 0b0011'1111u);
  EXPECT_EQ(given->placement.charges[0].slots, 3u);
  EXPECT_EQ(shares[0].part.text, "2g");
  EXPECT_EQ(shares[0].start, 4u);
  EXPECT_EQ(shares[0].size, 2u);
  EXPECT_EQ(engine_.explain(part("b", "1g", 2))->refusals.at(0).why, NodeWhy::kTogether);
  EXPECT_TRUE(engine_.place(part("b", "1g"), Instant{1}));
}

TEST(Partitioning, PartsWithMutex_Refused) {
  Engine engine(Config{});
  Request request = some::request("a", 1, 0);
  request.shape.containers[0].devices.part = PartName("1g");
  request.shape.devices = DevicePolicy{};
  EXPECT_TRUE(engine.decide(request));
  request.shape.devices->mutex = true;
  EXPECT_EQ(engine.decide(request).error().message(),
            "parts of devices, and \"mutex\" of the devices; accepted: one of them");
}

TEST(Partitioning, PartsWithMemoryTerms_Refused) {
  Engine engine(Config{});
  Node node = some::node("n", 1);
  node.devices[0].parting = sums();
  EXPECT_TRUE(engine.setNode(node));
  node.devices[0].terms.foreign = gib(1);
  EXPECT_FALSE(engine.setNode(node));
  Request request = some::request("a", 1, 0);
  request.shape.containers[0].devices.part = PartName();
  request.shape.containers[0].devices.guarantee = gib(1);
  EXPECT_FALSE(engine.decide(request));
}

TEST_F(PartitionedNodeTest, NamedPartWithMemory_Refused) {
  Request request = part("a", "2g");
  request.shape.containers[0].devices.memory = gib(1);
  EXPECT_EQ(engine_.decide(request).error().message(),
            "container 0: the part 2g, and memory or compute; accepted: a part by name, or by "
            "memory and compute");
}

// Somebody else's decision: the place is taken, or no part begins there.
TEST_F(PartitionedNodeTest, SamePlaceReservedTwice_SecondRefused) {
  const auto decided = engine_.decide(part("a", "2g"));
  ASSERT_TRUE(engine_.reserve(part("a", "2g"), *decided->placement, Instant{1}));
  EXPECT_FALSE(engine_.reserve(part("b", "2g"), *decided->placement, Instant{1}));
  Placement odd = *decided->placement;
  odd.containers[0][0].start = 1;
  odd.charges[0].slices = 0b110;
  EXPECT_FALSE(engine_.reserve(part("b", "2g"), odd, Instant{1}));
  odd.containers[0][0].start = 2;
  odd.charges[0].slices = 0b1100;
  EXPECT_TRUE(engine_.reserve(part("b", "2g"), odd, Instant{1}));
}

TEST_F(PartitionedNodeTest, TooMuchMemory_SuggestionIsLess) {
  ASSERT_TRUE(engine_.place(part("a", "4g"), Instant{1}));
  ASSERT_TRUE(engine_.place(part("b", "2g"), Instant{1}));
  Request request = part("c", "");
  request.shape.containers[0].devices.memory = gib(30);
  const auto remedies = engine_.remedies(request, NodeName("n"));
  ASSERT_TRUE(remedies);
  ASSERT_EQ(remedies->size(), 1u);
  EXPECT_EQ(text((*remedies)[0]),
            "ask for 20 GiB instead of 30 GiB of device memory in container 0");
}

}  // namespace
}  // namespace divvy::engine
