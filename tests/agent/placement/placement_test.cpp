#include "agent/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace divvy::agent {
namespace {

Card card(unsigned index, std::uint64_t physical_gib = 80) {
  Card card;
  card.index = index;
  card.uuid = "GPU-0000000" + std::to_string(index) + "-aaaa";
  card.model = "NVIDIA H100 80GB HBM3";
  card.physical = gib(physical_gib);
  card.context = mib(500);
  return card;
}

ShareRequest askFor(Bytes memory, unsigned gpus = 1) {
  ShareRequest ask;
  ask.memory = {memory, 0};
  ask.gpus = gpus;
  return ask;
}

rc::Gen<Card> anyCard() {
  return rc::gen::apply(
      [](unsigned physical, unsigned reserved, unsigned foreign, unsigned cores, bool healthy,
         bool a100) {
        Card result = card(0, physical);
        result.reserved = gib(reserved);
        result.foreign = gib(foreign);
        result.cores_reserved = cores;
        result.healthy = healthy;
        if (a100) result.model = "NVIDIA A100-SXM4-40GB";
        return result;
      },
      rc::gen::inRange(1u, 160u), rc::gen::inRange(0u, 200u), rc::gen::inRange(0u, 40u),
      rc::gen::inRange(0u, 120u), rc::gen::weightedElement<bool>({{9, true}, {1, false}}),
      rc::gen::arbitrary<bool>());
}

std::vector<Card> anyCards() {
  std::vector<Card> cards = *rc::gen::container<std::vector<Card>>(anyCard());
  if (cards.size() > 16) cards.resize(16);
  for (unsigned i = 0; i < cards.size(); ++i) {
    cards[i].index = i;
    cards[i].uuid = card(i).uuid;
  }
  return cards;
}

ShareRequest anyAsk() {
  ShareRequest ask;
  ask.gpus = *rc::gen::inRange(1u, 5u);
  ask.cores = ask.gpus * *rc::gen::element(0u, 10u, 50u, 100u);
  ask.context_inside = *rc::gen::arbitrary<bool>();
  ask.memory = *rc::gen::arbitrary<bool>() ? MemoryRequest{mib(*rc::gen::inRange(1u, 200000u)), 0}
                                           : MemoryRequest{{}, *rc::gen::inRange(1u, 101u)};
  if (*rc::gen::inRange(0, 4) == 0) ask.models = {"a100"};
  return ask;
}

RC_GTEST_PROP(Placement, RandomDevices_NeverMoreThanFree, ()) {
  const std::vector<Card> cards = anyCards();
  const Decision decision = place(anyAsk(), cards);
  for (const PlacedShare& share : decision.shares) {
    RC_ASSERT(share.reserve <= cards[share.index].free());
    RC_ASSERT(share.limit <= cards[share.index].physical);
    RC_ASSERT(share.limit.count > 0u);
  }
}

RC_GTEST_PROP(Placement, RandomRequest_ExactDevicesOrReasons, ()) {
  const std::vector<Card> cards = anyCards();
  const ShareRequest ask = anyAsk();
  const Decision decision = place(ask, cards);
  if (decision.fits()) {
    RC_ASSERT(decision.shares.size() == ask.gpus);
    RC_ASSERT(decision.summary.empty());
  } else {
    RC_ASSERT(!decision.summary.empty());
    RC_ASSERT(cards.size() - decision.refusals.size() < ask.gpus);
  }
}

RC_GTEST_PROP(Placement, RandomRefusal_DeviceDoesNotFitAlone, ()) {
  const std::vector<Card> cards = anyCards();
  ShareRequest ask = anyAsk();
  const Decision decision = place(ask, cards);
  ask.gpus = 1;
  for (const Refusal& refusal : decision.refusals) {
    RC_ASSERT(!place(ask, {cards[refusal.index]}).fits());
  }
}

RC_GTEST_PROP(Placement, RandomRequest_ImpossibleIffIdleDevicesFail, ()) {
  std::vector<Card> cards = anyCards();
  const ShareRequest ask = anyAsk();
  const Decision now = place(ask, cards);
  for (Card& card : cards) {
    card.reserved = card.foreign = {};
    card.cores_reserved = 0;
    card.healthy = true;
  }
  RC_ASSERT(now.impossible == !place(ask, cards).fits());
}

RC_GTEST_PROP(Placement, RandomFit_FirstDevicesWithComputeChosen, ()) {
  const std::vector<Card> cards = anyCards();
  ShareRequest ask = anyAsk();
  const Decision decision = place(ask, cards);
  RC_PRE(decision.fits());
  const unsigned each = ask.coresEach();
  const unsigned gpus = ask.gpus;
  ask.gpus = 1;
  ask.cores = each;
  std::vector<unsigned> first;
  std::vector<unsigned> crowded;
  for (const Card& card : cards) {
    if (!place(ask, {card}).fits()) continue;
    const bool left = card.cores_reserved < 100 && card.cores_reserved + each <= 100;
    (left ? first : crowded).push_back(card.index);
  }
  first.insert(first.end(), crowded.begin(), crowded.end());
  first.resize(gpus);
  std::sort(first.begin(), first.end());
  for (std::size_t i = 0; i < decision.shares.size(); ++i)
    RC_ASSERT(decision.shares[i].index == first[i]);
}

// Tenants come and go; what they were promised never adds up to more than a card has.
RC_GTEST_PROP(Placement, RandomHistory_PromisedWithinPhysical, ()) {
  std::vector<Card> cards = anyCards();
  for (Card& card : cards) {
    card.reserved = card.foreign = {};
    card.cores_reserved = 0;
  }
  std::vector<PlacedShare> live;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    if (!live.empty() && *rc::gen::inRange(0, 3) == 0) {
      const std::size_t gone = *rc::gen::inRange<std::size_t>(0, live.size());
      Card& card = cards[live[gone].index];
      card.reserved = card.reserved - live[gone].reserve;
      card.cores_reserved -= live[gone].cores;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
      continue;
    }
    for (const PlacedShare& share : place(anyAsk(), cards).shares) {
      cards[share.index].reserved = cards[share.index].reserved + share.reserve;
      cards[share.index].cores_reserved += share.cores;
      live.push_back(share);
    }
    for (const Card& card : cards) {
      RC_ASSERT(card.reserved <= card.physical);
    }
  }
}

TEST(Placement, MixedDevices_ReasonPerDevice) {
  std::vector<Card> cards{card(0), card(1), card(2, 24), card(3)};
  cards[0].reserved = gib(78);
  cards[1].reserved = gib(78);
  cards[2].model = "NVIDIA GeForce RTX 4090";
  cards[3].healthy = false;
  ShareRequest ask = askFor(gib(4));
  ask.models = {"h100"};
  const Decision decision = place(ask, cards);
  EXPECT_FALSE(decision.impossible);
  EXPECT_EQ(explain(decision),
            (std::vector<std::string>{
                "devices 0-1 (NVIDIA H100 80GB HBM3): needs 4 GiB, 2 GiB free",
                "device 2 (NVIDIA GeForce RTX 4090): is another model; requested: h100",
                "device 3 (NVIDIA H100 80GB HBM3): is out of service"}));
}

TEST(Placement, ModelSpelling_AnyFormMatches) {
  Card geforce = card(0, 24);
  geforce.model = "NVIDIA GeForce RTX 4090";
  for (const char* name : {"4090", "rtx4090", "RTX 4090", "geforce-rtx-4090"}) {
    ShareRequest ask = askFor(gib(1));
    ask.models = {name};
    EXPECT_TRUE(place(ask, {geforce}).fits()) << name;
  }
}

TEST(Placement, UuidPrefix_MatchesInAnyCase) {
  ShareRequest ask = askFor(gib(1));
  ask.uuids = {"gpu-00000001"};
  const Decision decision = place(ask, {card(0), card(1)});
  ASSERT_TRUE(decision.fits());
  EXPECT_EQ(decision.shares[0].index, 1u);
}

// Regression: on a machine with twelve cards a refusal named eleven UUIDs in a line.
TEST(Placement, DevicesNotAskedFor_ReasonInOneLine) {
  std::vector<Card> cards{card(0), card(1), card(2), card(3)};
  cards[1].reserved = gib(78);
  ShareRequest ask = askFor(gib(4));
  ask.uuids = {cards[1].uuid};
  EXPECT_EQ(explain(place(ask, cards)),
            (std::vector<std::string>{
                "devices 0, 2-3 (NVIDIA H100 80GB HBM3): is not the requested device",
                "device 1 (NVIDIA H100 80GB HBM3): needs 4 GiB, 2 GiB free"}));
  EXPECT_EQ(
      explain(place(ask, {cards[0]})),
      (std::vector<std::string>{"device 0 (NVIDIA H100 80GB HBM3): its UUID is " + cards[0].uuid}));
}

TEST(Placement, LargerThanDevice_IsImpossible) {
  const Decision decision = place(askFor(gib(200)), {card(0)});
  EXPECT_TRUE(decision.impossible);
  EXPECT_EQ(explain(decision).at(0),
            "device 0 (NVIDIA H100 80GB HBM3): needs 200 GiB, the device has 80 GiB");
}

TEST(Placement, ShareBelowContext_IsRefused) {
  ShareRequest ask = askFor(mib(300));
  EXPECT_EQ(place(ask, {card(0)}).refusals.at(0).why, engine::DeviceWhy::kBelowContext);
  ask.context_inside = false;
  const Decision outside = place(ask, {card(0)});
  ASSERT_TRUE(outside.fits());
  EXPECT_EQ(outside.shares[0].limit, mib(300));
  EXPECT_EQ(outside.shares[0].reserve, mib(800));
}

TEST(Placement, ComputeReservedDevice_OtherPreferred) {
  std::vector<Card> cards{card(0), card(1), card(2)};
  cards[0].cores_reserved = 60;
  ShareRequest ask = askFor(gib(4));
  ask.cores = 50;
  const Decision decision = place(ask, cards);
  ASSERT_TRUE(decision.fits());
  EXPECT_EQ(decision.shares[0].index, 1u);
  EXPECT_TRUE(coresNotes(decision.shares, cards).empty());
}

TEST(Placement, ComputeBeyond100Percent_PlacedWithNote) {
  std::vector<Card> cards{card(0), card(1)};
  cards[0].cores_reserved = 100;
  cards[1].cores_reserved = 100;
  ShareRequest ask = askFor(gib(4), 2);
  ask.cores = 60;
  const Decision decision = place(ask, cards);
  ASSERT_EQ(decision.shares.size(), 2u);
  EXPECT_EQ(decision.shares[1].cores, 30u);
  EXPECT_EQ(coresNotes(decision.shares, cards),
            (std::vector<std::string>{
                "cores on devices 0-1 add up to 130%: 30% is 23% while all are busy"}));
}

TEST(Placement, ForeignProcesses_TheirMemoryIsKept) {
  Card busy = card(0);
  busy.foreign = gib(30);
  busy.reserved = gib(40);
  EXPECT_TRUE(place(askFor(gib(10)), {busy}).fits());
  EXPECT_FALSE(place(askFor(gib(11)), {busy}).fits());
}

TEST(Placement, Grow_OnlyIntoFreeMemory) {
  Card half = card(0);
  half.reserved = gib(60);
  EXPECT_TRUE(canGrow(half, gib(4), gib(24)));
  EXPECT_FALSE(canGrow(half, gib(4), gib(25)));
  EXPECT_TRUE(canGrow(half, gib(60), gib(1)));
}

// What foreign processes use there is not known then: the free memory is a guess.
TEST(Placement, UnhealthyDevice_NoGrow) {
  Card silent = card(0);
  silent.healthy = false;
  EXPECT_FALSE(canGrow(silent, gib(4), gib(5)));
  EXPECT_TRUE(canGrow(silent, gib(4), gib(4)));
  EXPECT_TRUE(canGrow(silent, gib(4), gib(1)));
}

}  // namespace
}  // namespace divvy::agent
