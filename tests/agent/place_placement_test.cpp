// Where cards are, and when they are used, as an agent places by them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "agent/placement.h"
#include "engine/usage_by_hour_text.h"

namespace divvy::agent {
namespace {

// Two to a NUMA node; 0 and 1, 1 and 2, 2 and 3 are linked, the middle ones best; the NIC is
// with 3.
std::vector<Card> fourCards() {
  std::vector<Card> cards(4);
  for (unsigned i = 0; i < cards.size(); ++i) {
    cards[i].index = i;
    cards[i].uuid = "GPU-" + std::to_string(i);
    cards[i].model = "Tesla V100-SXM2-16GB";
    cards[i].physical = gib(16);
    cards[i].place.numa = i / 2;
    cards[i].place.nics = {{"mlx5_0", i == 3 ? 1u : 5u}};
  }
  const auto link = [&](unsigned a, unsigned b, std::uint32_t score) {
    cards[a].place.ways.push_back({cards[b].uuid, score, true});
    cards[b].place.ways.push_back({cards[a].uuid, score, true});
  };
  link(0, 1, 100);
  link(1, 2, 200);
  link(2, 3, 100);
  return cards;
}

ShareRequest asking(unsigned gpus, const std::string& devices) {
  ShareRequest ask;
  ask.memory = {gib(4), 0};
  ask.gpus = gpus;
  ask.devices = *engine::parseDevicePolicy(devices);
  return ask;
}

std::set<unsigned> given(const Decision& decision) {
  std::set<unsigned> all;
  for (const PlacedShare& share : decision.shares) all.insert(share.index);
  return all;
}

using Cards = std::set<unsigned>;

TEST(Placement, LocalityPolicies_ChooseMatchingDevices) {
  const std::vector<Card> cards = fourCards();
  const Cards together = given(place(asking(2, "numa-strict"), cards));
  EXPECT_TRUE(together == (Cards{0, 1}) || together == (Cards{2, 3}));
  EXPECT_EQ(given(place(asking(2, "topology-aware"), cards)), (Cards{1, 2}));
  EXPECT_EQ(given(place(asking(2, "link-strict"), cards)), (Cards{1, 2}));
  EXPECT_EQ(given(place(asking(1, "nic=mlx5_0"), cards)), (Cards{3}));
  // Of one NUMA node first; without a wish for that the best linked.
  EXPECT_NE(given(place(asking(2, "numa,topology-aware"), cards)), (Cards{1, 2}));
}

TEST(Placement, UnreachableLocality_IsRefused) {
  std::vector<Card> cards = fourCards();
  const Decision nodes = place(asking(3, "numa-strict"), cards);
  EXPECT_FALSE(nodes.fits());
  EXPECT_TRUE(nodes.impossible);
  EXPECT_NE(nodes.summary.find("NUMA"), std::string::npos) << nodes.summary;
  EXPECT_FALSE(place(asking(3, "link-strict"), cards).fits());
  const std::vector<std::string> other = fixes(asking(3, "link-strict"), cards, {});
  EXPECT_NE(std::find(other.begin(), other.end(), "--gpus 2"), other.end());
  EXPECT_NE(std::find(other.begin(), other.end(), "--device-policy topology-aware"), other.end());
  EXPECT_FALSE(place(asking(1, "nic=mlx5_7"), cards).fits());
  // What is in use now may go: another pair then.
  cards[1].reserved = cards[1].guaranteed = gib(15);
  cards[1].tenants = 1;
  EXPECT_EQ(given(place(asking(2, "link-strict"), cards)), (Cards{2, 3}));
  cards[2].reserved = cards[2].guaranteed = gib(15);
  cards[2].tenants = 1;
  const Decision none = place(asking(2, "link-strict"), cards);
  EXPECT_FALSE(none.fits());
  EXPECT_FALSE(none.impossible);
}

TEST(Placement, UnknownLocality_StrictPolicyRefused) {
  std::vector<Card> cards = fourCards();
  for (Card& card : cards) card.place = {};
  EXPECT_FALSE(place(asking(1, "numa-strict"), cards).fits());
  EXPECT_TRUE(place(asking(1, "link-strict"), cards).fits());
  EXPECT_FALSE(place(asking(2, "link-strict"), cards).fits());
  // A NIC that not every card tells of is none; links to cards that are not here neither.
  cards = fourCards();
  cards[0].place.nics.clear();
  EXPECT_TRUE(nodeOf("n", cards, {}).nics.empty());
  cards.pop_back();
  EXPECT_EQ(nodeOf("n", cards, {}).links.size(), 2u);
}

// Cards 0 and 1 have a tenant each: by day, and by night.
std::vector<Card> dayAndNight() {
  std::vector<Card> cards = fourCards();
  cards.resize(2);
  for (Card& card : cards) {
    card.place = {};
    card.reserved = card.guaranteed = gib(6);
    card.tenants = 1;
    card.given_in = {""};
    engine::Charge charge{engine::DeviceUuid(card.uuid), gib(6), {}, 1, {}, {}, {}};
    card.by_day = {
        {charge, *engine::parseDaily(card.index == 0 ? "8-20=100%,else=0%" : "20-8=100%,else=0%"),
         ""}};
  }
  return cards;
}

TEST(Placement, ComplementaryHours_ShareDevice) {
  const std::vector<Card> cards = dayAndNight();
  ShareRequest ask = asking(1, "tightest");
  ask.memory = {gib(6), 0};
  ask.expected_use = engine::parseDaily("8-20=100%,else=0%").value();
  EXPECT_EQ(given(place(ask, cards)), (Cards{1}));
  ask.expected_use = engine::parseDaily("20-8=100%,else=0%").value();
  EXPECT_EQ(given(place(ask, cards)), (Cards{0}));
  // What is there is there at any hour.
  ask.memory = {gib(11), 0};
  EXPECT_FALSE(place(ask, cards).fits());
  EXPECT_EQ(fixes(ask, cards, {}), (std::vector<std::string>{"--memory 10Gi"}));
  // Not where the agent is told not to look.
  PlacementOptions placing;
  placing.by_day = {};
  ask.memory = {gib(6), 0};
  const Cards first = given(place(ask, cards, {}, placing));
  ask.expected_use = engine::parseDaily("8-20=100%,else=0%").value();
  EXPECT_EQ(given(place(ask, cards, {}, placing)), first);
}

}  // namespace
}  // namespace divvy::agent
