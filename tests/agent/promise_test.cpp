// What placement promises of cards whose memory is promised more than once. Invariants for any
// course of events, and each reason by example.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/placement.h"

namespace divvy::agent {
namespace {

// One on which tenants may have 80 GiB, or what `physical` leaves.
Card card(unsigned permille, Bytes physical = gib(256)) {
  Card card;
  card.uuid = "GPU-00000000-aaaa";
  card.model = "NVIDIA H100 80GB HBM3";
  card.physical = physical;
  card.context = mib(500);
  card.overcommit_permille = permille;
  if (physical == gib(256)) card.budget = gib(80) + card.margin();
  return card;
}

ShareRequest askFor(Bytes memory) {
  ShareRequest ask;
  ask.memory = {memory, 0};
  return ask;
}

// A tenant as it was placed, on one card.
struct Living {
  unsigned card = 0;
  Bytes limit;
  Bytes floor;
  Bytes outside;
};

// Cards and who is there: every tenant is booked as the agent books it.
struct World {
  std::vector<Card> empty;
  std::vector<Living> tenants;
  Bytes host_reserve;

  std::vector<Card> cards() const {
    std::vector<Card> cards = empty;
    for (const Living& tenant : tenants) {
      Card& at = cards[tenant.card];
      at.reserved = at.reserved + tenant.limit + tenant.outside;
      at.outside = at.outside + tenant.outside;
      at.guaranteed = at.guaranteed + tenant.floor;
      at.largest = std::max(at.largest, tenant.limit - tenant.floor);
    }
    return cards;
  }

  void take(const ShareRequest& ask, const Decision& decision) {
    for (const PlacedShare& share : decision.shares) {
      const Card& at = empty[share.index];
      RC_ASSERT(share.guarantee <= share.limit);
      tenants.push_back({share.index, share.limit,
                         floorOf(at, share.guarantee, share.limit, ask.context_inside),
                         share.reserve - share.limit});
    }
  }
};

World anyWorld() {
  World world;
  const unsigned count = *rc::gen::inRange(1u, 5u);
  for (unsigned i = 0; i < count; ++i) {
    Card one = card(*rc::gen::inRange(1000u, 4001u), mib(*rc::gen::inRange(2000u, 80000u)));
    one.index = i;
    one.uuid[11] = static_cast<char>('0' + i);
    one.foreign = mib(*rc::gen::inRange(0u, 3000u));
    one.host_map = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) one.budget = mib(*rc::gen::inRange(1000u, 80000u));
    world.empty.push_back(one);
  }
  world.host_reserve = mib(*rc::gen::inRange(0u, 200000u));
  return world;
}

ShareRequest anyAsk() {
  ShareRequest ask;
  ask.gpus = *rc::gen::inRange(1u, 4u);
  ask.context_inside = *rc::gen::arbitrary<bool>();
  ask.memory = *rc::gen::arbitrary<bool>() ? MemoryRequest{mib(*rc::gen::inRange(1u, 60000u)), 0}
                                           : MemoryRequest{{}, *rc::gen::inRange(1u, 101u)};
  ask.unswappable = *rc::gen::inRange(0, 6) == 0;
  if (*rc::gen::arbitrary<bool>())
    ask.guaranteed = MemoryRequest{mib(*rc::gen::inRange(0u, 20000u)), 0};
  return ask;
}

void holds(const World& world) {
  Bytes beyond;
  for (const Card& at : world.cards()) {
    const Bytes room = at.room() - at.outside;
    const Bytes limits = at.reserved - at.outside;
    const auto promised = static_cast<unsigned __int128>(room.count) * at.overcommit_permille;
    RC_ASSERT(static_cast<unsigned __int128>(limits.count) * 1000 <= promised);
    RC_ASSERT(at.guaranteed <= room);
    beyond = beyond + (limits - room);
    for (const Living& tenant : world.tenants) {
      if (tenant.card != at.index || at.host_map) continue;
      // All of its own fits beside what is never swapped of the others.
      RC_ASSERT(tenant.limit + (at.guaranteed - tenant.floor) <= room);
    }
  }
  RC_ASSERT(beyond <= world.host_reserve);
}

RC_GTEST_PROP(Overcommit, RandomEvents_WithinDeviceAndHost, ()) {
  World world = anyWorld();
  const unsigned events = *rc::gen::inRange(1u, 24u);
  for (unsigned event = 0; event < events; ++event) {
    if (!world.tenants.empty() && *rc::gen::inRange(0, 4) == 0) {
      world.tenants.erase(world.tenants.begin() +
                          *rc::gen::inRange<int>(0, static_cast<int>(world.tenants.size())));
      continue;
    }
    const ShareRequest ask = anyAsk();
    const Decision decision = place(ask, world.cards(), world.host_reserve);
    RC_ASSERT(decision.shares.size() == (decision.fits() ? ask.gpus : 0));
    RC_ASSERT(decision.fits() || !decision.summary.empty());
    world.take(ask, decision);
    holds(world);
  }
}

// Cards with some of those who are there, and those one by one.
std::vector<Card> cardsWith(const World& world, const std::vector<Priority>& priorities,
                            const std::set<std::string>& gone,
                            std::vector<AllocationOwner>* holders) {
  World left = world;
  left.tenants.clear();
  for (std::size_t i = 0; i < world.tenants.size(); ++i) {
    const Living& one = world.tenants[i];
    const std::string id = "t" + std::to_string(i);
    if (gone.count(id) != 0) continue;
    left.tenants.push_back(one);
    AllocationOwner holder{id, priorities[i], i % 3, {}};
    holder.held[world.empty[one.card].uuid] = {
        one.limit + one.outside, one.floor, one.outside, one.limit - one.floor, 0, 1, false, {}};
    if (holders != nullptr) holders->push_back(holder);
  }
  return left.cards();
}

RC_GTEST_PROP(Overcommit, RandomVictims_LowerPriorityAndNeeded, ()) {
  World world = anyWorld();
  for (unsigned event = 0; event < 16; ++event) {
    const ShareRequest ask = anyAsk();
    world.take(ask, place(ask, world.cards(), world.host_reserve));
  }
  const auto priorities = *rc::gen::container<std::vector<Priority>>(
      world.tenants.size(), rc::gen::element(Priority::kLow, Priority::kNormal, Priority::kHigh));
  const Priority asker = *rc::gen::element(Priority::kLow, Priority::kNormal, Priority::kHigh);
  const ShareRequest ask = anyAsk();
  std::vector<AllocationOwner> holders;
  const std::vector<Card> cards = cardsWith(world, priorities, {}, &holders);
  const auto fitsWithout = [&](const std::set<std::string>& gone) {
    return place(ask, cardsWith(world, priorities, gone, nullptr), world.host_reserve).fits();
  };
  const std::vector<std::string> ids = victims(ask, asker, cards, holders, world.host_reserve);
  std::set<std::string> lower;
  for (const AllocationOwner& holder : holders)
    if (holder.priority < asker) lower.insert(holder.id);
  if (ids.empty()) {
    RC_ASSERT(fitsWithout({}) || !fitsWithout(lower));
    return;
  }
  const std::set<std::string> gone(ids.begin(), ids.end());
  RC_TAG(gone.size());
  RC_ASSERT(gone.size() == ids.size());
  RC_ASSERT(!fitsWithout({}));
  RC_ASSERT(fitsWithout(gone));
  for (const std::string& id : ids) {
    RC_ASSERT(lower.count(id) == 1);
    std::set<std::string> fewer = gone;
    fewer.erase(id);
    RC_ASSERT(!fitsWithout(fewer));
  }
}

// What cards decided before memory could be promised more than once.
bool fitsOnce(const ShareRequest& ask, const Card& at) {
  const Bytes limit = ask.memory.on(at.physical);
  const Bytes reserve = ask.context_inside ? limit : limit + at.context;
  if (reserve > at.physical || (ask.context_inside && limit < at.context)) return false;
  return reserve <= at.physical - at.reserved - at.foreign;
}

RC_GTEST_PROP(Overcommit, RatioOne_DecidesByFreeMemory, ()) {
  World world = anyWorld();
  for (Card& at : world.empty) {
    at.overcommit_permille = kNoOvercommit;
    at.budget = {};
  }
  for (unsigned event = 0; event < 12; ++event) {
    ShareRequest ask = anyAsk();
    ask.guaranteed.reset();
    const std::vector<Card> cards = world.cards();
    const auto fitting = std::count_if(cards.begin(), cards.end(),
                                       [&](const Card& at) { return fitsOnce(ask, at); });
    const Decision decision = place(ask, cards, world.host_reserve);
    RC_ASSERT(decision.fits() == (fitting >= static_cast<long>(ask.gpus)));
    for (const PlacedShare& share : decision.shares) RC_ASSERT(share.guarantee == share.limit);
    world.take(ask, decision);
  }
}

Refusal onlyRefusal(const Decision& decision) {
  EXPECT_FALSE(decision.fits());
  EXPECT_EQ(decision.refusals.size(), 1u);
  return decision.refusals.empty() ? Refusal{} : decision.refusals[0];
}

Card heldBy(Card at, Bytes limit, Bytes floor) {
  at.reserved = at.reserved + limit;
  at.guaranteed = at.guaranteed + floor;
  at.largest = std::max(at.largest, limit - floor);
  return at;
}

TEST(Overcommit, BeyondRatio_RefusedWithRemainder) {
  const Card half = heldBy(card(1300), gib(70), mib(500));
  const Refusal refusal = onlyRefusal(place(askFor(gib(40)), {half}, gib(400)));
  EXPECT_EQ(refusal.why, engine::DeviceWhy::kOvercommit);
  EXPECT_EQ(refusal.text(), "needs 40 GiB, 34 GiB may still be promised (--overcommit)");
  EXPECT_FALSE(place(askFor(gib(40)), {half}, gib(400)).impossible) << "waiting may help";
  EXPECT_TRUE(place(askFor(gib(34)), {half}, gib(400)).fits());
}

TEST(Overcommit, HostReserveTooSmall_IsRefused) {
  const Card half = heldBy(card(2000), gib(70), mib(500));
  const Refusal refusal = onlyRefusal(place(askFor(gib(40)), {half}, gib(20)));
  EXPECT_EQ(refusal.why, engine::DeviceWhy::kHostReserve);
  EXPECT_EQ(
      refusal.text(),
      "needs 30 GiB of host memory for swapping, 20 GiB left of the reserve (--host-reserve)");
  EXPECT_FALSE(place(askFor(gib(40)), {half}, gib(20)).impossible) << "waiting may help";
  EXPECT_TRUE(place(askFor(gib(40)), {half}, gib(30)).fits());
  // Without any reserve nothing is promised that is not there.
  EXPECT_TRUE(place(askFor(gib(10)), {half}).fits());
  EXPECT_FALSE(place(askFor(gib(11)), {half}).fits());
}

TEST(Overcommit, OthersGuarantees_LargeShareRefused) {
  const Card half = heldBy(card(2000), gib(70), gib(30));
  const Refusal refusal = onlyRefusal(place(askFor(gib(60)), {half}, gib(400)));
  EXPECT_EQ(refusal.why, engine::DeviceWhy::kGuaranteeConflict);
  EXPECT_EQ(refusal.available, gib(50).count);
  EXPECT_FALSE(place(askFor(gib(60)), {half}, gib(400)).impossible) << "waiting may help";
}

// A tenant that uses all of the card could never have its memory back beside another's context.
TEST(Overcommit, NewGuarantee_ExistingPromiseKept) {
  const Card full = heldBy(card(2000), gib(80), mib(500));
  const Refusal refusal = onlyRefusal(place(askFor(gib(4)), {full}, gib(400)));
  EXPECT_EQ(refusal.why, engine::DeviceWhy::kGuarantee);
  EXPECT_EQ(refusal.needed, mib(500).count);
  const Card nearly = heldBy(card(2000), gib(78), mib(500));
  ShareRequest guaranteed = askFor(gib(20));
  guaranteed.guaranteed = MemoryRequest{gib(2), 0};
  EXPECT_TRUE(place(guaranteed, {nearly}, gib(400)).fits());
  guaranteed.guaranteed = MemoryRequest{gib(3), 0};
  EXPECT_EQ(onlyRefusal(place(guaranteed, {nearly}, gib(400))).why, engine::DeviceWhy::kGuarantee);
}

// One whose context is counted outside its share has nothing in it that stays, and was let in.
TEST(Overcommit, ContextOutside_ExistingPromiseKept) {
  const Card full = heldBy(card(2000), gib(80), mib(500));
  ShareRequest outside = askFor(gib(4));
  outside.context_inside = false;
  const Refusal refusal = onlyRefusal(place(outside, {full}, gib(400)));
  EXPECT_EQ(refusal.why, engine::DeviceWhy::kGuarantee);
  EXPECT_EQ(refusal.needed, mib(500).count);
  EXPECT_TRUE(place(outside, {heldBy(card(2000), gib(79), mib(500))}, gib(400)).fits());
}

// What it cannot have there it uses at the host; without that it is refused as ever.
TEST(Overcommit, HostMappable_LargerThanRestAdmitted) {
  Card beside = heldBy(card(2000), gib(70), gib(30));
  Card empty = card(1500);
  for (const bool maps : {false, true}) {
    beside.host_map = empty.host_map = maps;
    EXPECT_EQ(place(askFor(gib(60)), {beside}, gib(400)).fits(), maps);
    EXPECT_EQ(place(askFor(gib(100)), {empty}, gib(400)).fits(), maps) << "more than the card has";
  }
  EXPECT_EQ(onlyRefusal(place(askFor(gib(100)), {empty}, gib(10))).why,
            engine::DeviceWhy::kHostReserve);
  EXPECT_EQ(onlyRefusal(place(askFor(gib(120)), {beside}, gib(400))).why,
            engine::DeviceWhy::kOvercommit);
  const Decision much = place(askFor(gib(121)), {empty}, gib(400));
  EXPECT_EQ(onlyRefusal(much).why, engine::DeviceWhy::kOverPromiseLimit);
  EXPECT_EQ(onlyRefusal(much).text(),
            "needs 121 GiB, at most 120 GiB may be promised there (--overcommit)");
  EXPECT_TRUE(much.impossible);
  ShareRequest stays = askFor(gib(100));
  stays.unswappable = true;
  EXPECT_EQ(onlyRefusal(place(stays, {empty}, gib(400))).why, engine::DeviceWhy::kBudget);
}

// Others' contexts and guarantees leave who is as large as the card half of it.
TEST(Overcommit, FullTenantHostMappable_OthersAdmitted) {
  Card full = heldBy(card(2000), gib(80), mib(500));
  full.host_map = true;
  EXPECT_TRUE(place(askFor(gib(4)), {full}, gib(400)).fits());
  ShareRequest guaranteed = askFor(gib(60));
  guaranteed.guaranteed = MemoryRequest{gib(39), 0};
  EXPECT_TRUE(place(guaranteed, {full}, gib(400)).fits());
  guaranteed.guaranteed = MemoryRequest{gib(40), 0};
  EXPECT_EQ(onlyRefusal(place(guaranteed, {full}, gib(400))).why, engine::DeviceWhy::kGuarantee);
}

TEST(Overcommit, DriverVersion_HostMappingSince575) {
  for (const char* one : {"575.51.03", "580.65.06", "620.40"}) EXPECT_TRUE(mapsHostMemory(one));
  for (const char* one : {"570.86.10", "", "unknown", "57"}) EXPECT_FALSE(mapsHostMemory(one));
}

TEST(Overcommit, ImpossibleShare_ReasonIsNamed) {
  ShareRequest upside_down = askFor(gib(4));
  upside_down.guaranteed = MemoryRequest{{}, 50};
  const Decision decision = place(upside_down, {card(1300)}, gib(400));
  EXPECT_EQ(onlyRefusal(decision).why, engine::DeviceWhy::kGuaranteeAboveShare);
  EXPECT_TRUE(decision.impossible);
  Card small = card(1300);
  small.budget = gib(20);
  const Decision much = place(askFor(gib(21)), {small}, gib(400));
  EXPECT_EQ(onlyRefusal(much).why, engine::DeviceWhy::kBudget);
  EXPECT_TRUE(much.impossible);
  EXPECT_EQ(onlyRefusal(place(askFor(gib(257)), {card(4000)}, gib(400))).why,
            engine::DeviceWhy::kTooLarge);
}

// What drivers took unasked once let the sum exceed the budget for a second.
TEST(Overcommit, Room_MarginLeftToDriver) {
  Card whole = card(1300, gib(80));
  EXPECT_EQ(whole.room(), gib(80) - mib(320));
  whole.budget = gib(20);
  EXPECT_EQ(whole.room(), gib(20) - mib(320));
  whole.overcommit_permille = kNoOvercommit;
  EXPECT_EQ(whole.room(), gib(20));
}

TEST(Overcommit, PercentMemory_IsOfBudget) {
  ShareRequest all;
  EXPECT_EQ(place(all, {card(1300)}).shares.at(0).limit, gib(80));
  all.memory.percent = 50;
  all.guaranteed = MemoryRequest{{}, 25};
  EXPECT_EQ(place(all, {card(1300)}).shares.at(0).limit, gib(40));
  EXPECT_EQ(place(all, {card(1300)}).shares.at(0).guarantee, gib(20));
}

TEST(Overcommit, NoGuaranteeAsked_GuaranteeIsZero) {
  ShareRequest ask = askFor(gib(20));
  EXPECT_EQ(place(ask, {card(1300)}, gib(1)).shares[0].guarantee, Bytes{});
  EXPECT_EQ(place(ask, {card(1000)}, gib(1)).shares[0].guarantee, gib(20));
  ask.guaranteed = MemoryRequest{gib(8), 0};
  EXPECT_EQ(place(ask, {card(1300)}, gib(1)).shares[0].guarantee, gib(8));
  EXPECT_EQ(place(ask, {card(1000)}, gib(1)).shares[0].guarantee, gib(20));
  ask.unswappable = true;
  EXPECT_EQ(place(ask, {card(1300)}, gib(1)).shares[0].guarantee, gib(20));
}

// Each alone would fit: together they need more than the host has left.
TEST(Overcommit, TwoDevices_HostReserveIsShared) {
  Card one = heldBy(card(2000), gib(70), mib(500));
  Card two = one;
  two.index = 1;
  two.uuid = "GPU-00000001-aaaa";
  ShareRequest ask = askFor(gib(40));
  ask.gpus = 2;
  EXPECT_TRUE(place(ask, {one, two}, gib(60)).fits());
  const Decision decision = place(ask, {one, two}, gib(59));
  EXPECT_FALSE(decision.fits());
  EXPECT_FALSE(decision.impossible);
  ASSERT_EQ(decision.refusals.size(), 2u);
  EXPECT_EQ(decision.refusals[0].why, engine::DeviceWhy::kHostReserve);
}

}  // namespace
}  // namespace divvy::agent
