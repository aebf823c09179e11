// Pools and device policies as an agent places by them.
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/placement.h"

namespace divvy::agent {
namespace {

std::vector<Card> fourCards() {
  std::vector<Card> cards(4);
  for (unsigned i = 0; i < cards.size(); ++i) {
    cards[i].index = i;
    cards[i].uuid = "GPU-" + std::to_string(i);
    cards[i].model = "NVIDIA GeForce RTX 4090";
    cards[i].physical = gib(24);
  }
  return cards;
}

void give(Card* card, Bytes memory, const std::string& pool) {
  card->reserved = card->reserved + memory;
  card->guaranteed = card->reserved;
  ++card->tenants;
  card->given_in = {pool};
}

// Cards 0 and 1 for one each, 2 for who asks, 3 in no pool.
PlacementOptions twoPools() {
  PlacementOptions placing;
  engine::Pool whole;
  whole.name = engine::PoolName("whole");
  whole.mode = engine::Mode::kExclusive;
  whole.members.uuids = {engine::DeviceUuid("GPU-0"), engine::DeviceUuid("GPU-1")};
  engine::Pool shared;
  shared.name = engine::PoolName("shared");
  shared.members.uuids = {engine::DeviceUuid("GPU-2")};
  placing.pools = {whole, shared};
  return placing;
}

ShareRequest asking(std::optional<std::string> pool, const std::string& devices = "") {
  ShareRequest ask;
  ask.memory = {gib(4), 0};
  ask.pool = std::move(pool);
  if (!devices.empty()) ask.devices = *engine::parseDevicePolicy(devices);
  return ask;
}

TEST(PoolPlacement, NamedPool_OnlyItsDevicesChosen) {
  const PlacementOptions placing = twoPools();
  std::vector<Card> cards = fourCards();
  EXPECT_EQ(poolsOf(cards, placing), (std::vector<std::string>{"whole", "whole", "shared", ""}));
  const Decision first = place(asking("whole"), cards, {}, placing);
  ASSERT_TRUE(first.fits());
  EXPECT_LT(first.shares[0].index, 2u);
  EXPECT_EQ(first.pool, "whole");
  EXPECT_EQ(place(asking("shared"), cards, {}, placing).shares.at(0).index, 2u);
  EXPECT_EQ(place(asking(""), cards, {}, placing).shares.at(0).index, 3u);
  EXPECT_EQ(place(asking({}), cards, {}, placing).shares.at(0).index, 3u);
}

TEST(PoolPlacement, PoolFull_RefusalSuggestsOtherPool) {
  const PlacementOptions placing = twoPools();
  std::vector<Card> cards = fourCards();
  give(&cards[0], gib(1), "whole");
  give(&cards[1], gib(1), "whole");
  const Decision full = place(asking("whole"), cards, {}, placing);
  ASSERT_FALSE(full.fits());
  EXPECT_FALSE(full.impossible);
  EXPECT_EQ(explain(full),
            (std::vector<std::string>{
                "devices 0-1 (NVIDIA GeForce RTX 4090): has as many tenants as it may have",
                "device 2 (NVIDIA GeForce RTX 4090): in pool shared, which was not asked for",
                "device 3 (NVIDIA GeForce RTX 4090): in no pool, and one was asked for"}));
  EXPECT_EQ(fixes(asking("whole"), cards, {}, placing),
            (std::vector<std::string>{"--pool shared"}));
  const Decision unknown = place(asking("other"), cards, {}, placing);
  EXPECT_TRUE(unknown.impossible);
  EXPECT_EQ(unknown.summary, "no pool is called \"other\"; accepted: whole, shared, or no pool");
}

TEST(PoolPlacement, EarlierTenantOutsidePool_DeviceRefused) {
  const PlacementOptions placing = twoPools();
  std::vector<Card> cards = fourCards();
  give(&cards[2], gib(1), "");
  const Decision decision = place(asking("shared"), cards, {}, placing);
  ASSERT_FALSE(decision.fits());
  EXPECT_EQ(decision.refusals.at(2).text(),
            "still used by tenants that got it before it moved into pool shared");
  cards[2].given_in = {"shared"};
  EXPECT_TRUE(place(asking("shared"), cards, {}, placing).fits());
}

TEST(PoolPlacement, PoolFull_VictimsOnlyOfThatPool) {
  const PlacementOptions placing = twoPools();
  std::vector<Card> cards = fourCards();
  std::vector<AllocationOwner> holders;
  for (const unsigned card : {0u, 1u, 3u}) {
    const std::string pool = card == 3 ? "" : "whole";
    give(&cards[card], gib(22), pool);
    AllocationOwner& holder = holders.emplace_back();
    holder.id = "on " + std::to_string(card);
    holder.priority = Priority::kLow;
    holder.pool = pool;
    holder.age_s = 10 - card;
    holder.held[cards[card].uuid] = {gib(22), gib(22), {}, {}, 0, 1, false, {pool}};
  }
  const auto named = [&](const ShareRequest& ask, Priority asker) {
    return victims(ask, asker, cards, holders, {}, placing);
  };
  EXPECT_EQ(named(asking("whole"), Priority::kHigh), std::vector<std::string>{"on 1"});
  EXPECT_TRUE(named(asking("whole"), Priority::kLow).empty());
  EXPECT_TRUE(named(asking("shared"), Priority::kHigh).empty()) << "it fits";
  EXPECT_EQ(named(asking(""), Priority::kHigh), std::vector<std::string>{"on 3"});
  EXPECT_EQ(named(asking("", "mutex"), Priority::kHigh), std::vector<std::string>{"on 3"});
}

TEST(PoolPlacement, DevicePolicy_IsFollowed) {
  std::vector<Card> cards = fourCards();
  give(&cards[1], gib(2), "");
  EXPECT_EQ(place(asking({}, "binpack"), cards).shares.at(0).index, 1u);
  EXPECT_NE(place(asking({}, "spread"), cards).shares.at(0).index, 1u);
  const Decision alone = place(asking({}, "mutex"), cards);
  ASSERT_TRUE(alone.fits());
  EXPECT_TRUE(alone.alone);
  EXPECT_NE(alone.shares[0].index, 1u);
  for (Card& card : cards) card.alone = true;
  for (Card& card : cards) card.tenants = 1;
  EXPECT_FALSE(place(asking({}), cards).fits());
}

TEST(PoolPlacement, NumaStrictUnmet_SummaryNamesNuma) {
  ShareRequest ask = asking({}, "numa-strict");
  ask.gpus = 2;
  const Decision decision = place(ask, fourCards());
  ASSERT_FALSE(decision.fits());
  EXPECT_EQ(decision.summary, "needs 2 devices of one NUMA node, 0 fit");
  EXPECT_TRUE(decision.refusals.empty());
  const std::vector<std::string> others = fixes(ask, fourCards(), {});
  EXPECT_NE(std::find(others.begin(), others.end(), "--device-policy numa"), others.end());
}

}  // namespace
}  // namespace divvy::agent
