#include "card/topology.h"

#include <gtest/gtest.h>

namespace divvy::simgpu {
namespace {

CardTopology wiringOf(const char* machine) {
  return CardTopology(parseMachine(machine)->cards);
}

TEST(CardTopology, Default_AsSoldMachines) {
  CardTopology topology = wiringOf("a100x8");
  EXPECT_EQ(topology.linkCount(0), 12);
  EXPECT_EQ(topology.endOf(0, 0).kind, LinkEnd::Kind::kSwitch);
  EXPECT_TRUE(topology.linked(0, 7));
  EXPECT_EQ(topology.numaNodeOf(3), 0u);
  EXPECT_EQ(topology.numaNodeOf(4), 1u);
}

TEST(CardTopology, LinksGiven_ReplaceDefault) {
  CardTopology topology = wiringOf("a100x4");
  ASSERT_TRUE(topology.readLinks("0-1=4,2-3=2,0>2=1"));
  EXPECT_EQ(topology.linkCount(0), 5);
  EXPECT_EQ(topology.linkCount(2), 2) << "it tells nothing of the one from 0";
  EXPECT_EQ(topology.endOf(0, 3).card, 1);
  EXPECT_EQ(topology.endOf(0, 4).card, 2);
  EXPECT_EQ(topology.endOf(0, 4).kind, LinkEnd::Kind::kCard);
  EXPECT_EQ(topology.endOf(3, 1).card, 2);
  EXPECT_TRUE(topology.linked(1, 0));
  EXPECT_FALSE(topology.linked(2, 0));
  EXPECT_FALSE(topology.linked(1, 3)) << "no switches any more";
}

// Cards that are sold without NVLinks can be told to have some.
TEST(CardTopology, CardWithoutLinks_CanBeGivenSome) {
  CardTopology topology = wiringOf("l20x2");
  EXPECT_EQ(topology.linkCount(0), 0);
  ASSERT_TRUE(topology.readLinks("0-1=18"));
  EXPECT_EQ(topology.linkCount(1), 18);
}

TEST(CardTopology, NumaNodesGiven_ReplaceDefault) {
  CardTopology topology = wiringOf("a100x4");
  EXPECT_TRUE(topology.onOneSwitch(0, 1));
  ASSERT_TRUE(topology.readNodes("0,63,2,2"));
  EXPECT_EQ(topology.numaNodeOf(1), 63u);
  EXPECT_FALSE(topology.onOneSwitch(0, 1)) << "a switch is in one place";
  EXPECT_TRUE(topology.onOneSwitch(2, 3));
}

TEST(CardTopology, InvalidText_ChangesNothing) {
  for (const char* text : {"0-1", "0-1=", "0=1", "0-0=1", "0-4=1", "-1-0=1", "0-1=19", "0-1=4,",
                           ",0-1=4", "0-1=4 ", "0-1=10,0-2=9", "a-b=1", "0>1=x", "0-1=-1"}) {
    CardTopology topology = wiringOf("a100x4");
    EXPECT_FALSE(topology.readLinks(text)) << text;
    EXPECT_EQ(topology.linkCount(0), 12) << text;
  }
  for (const char* text :
       {"0", "0,0,1", "0,0,1,1,1", "0,0,1,64", "0,0,1,", "0,0,1,x", "0,0,1,-1"}) {
    CardTopology topology = wiringOf("a100x4");
    EXPECT_FALSE(topology.readNodes(text)) << text;
    EXPECT_EQ(topology.numaNodeOf(3), 0u) << text;
  }
}

}  // namespace
}  // namespace divvy::simgpu
