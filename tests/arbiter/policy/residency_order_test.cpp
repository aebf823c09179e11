// The law of residency in virtual time: from whom it takes, and from whom it does not.
#include "arbiter/residency.h"

#include <gtest/gtest.h>

#include "world/small_card.h"

namespace divvy::arbiter::world {
namespace {

TEST(Residency, HostReserveTooSmall_NothingIsTaken) {
  MemorySettings settings = smallCard();
  settings.device.host_reserve = 100 * kMib;
  MemoryWorld world(settings);
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(5 * kSecond);
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(100 * kSecond);
  EXPECT_EQ(world.swappers()[0]->copied_out, 0u) << "all that the other lacks, or nothing";
  world.remove(world.swappers()[1].get());
  addBatch(&world, 1, 200 * kMib);
  world.runUntil(200 * kSecond);
  EXPECT_GT(world.swappers()[0]->copied_out, 0u);
  EXPECT_GT(world.swappers()[2]->ran, 10 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, DistrustedTenant_IsNotSwapped) {
  MemoryWorld world(smallCard());
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(5 * kSecond);
  world.swappers()[0]->distrusted = true;
  world.changed(world.swappers()[0].get());
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(100 * kSecond);
  EXPECT_EQ(world.swappers()[0]->copied_out, 0u);
  EXPECT_EQ(world.swappers()[1]->ran, 0);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, MayHaveToLeave_MarkedContended) {
  MemoryWorld world(smallCard());
  const auto contended = [&](const Swapper& of) { return world.policy().stats(of.key).contended; };
  Swapper& safe = world.add(terms(100 * kMib, 100 * kMib));
  world.allocate(&safe, 90 * kMib);
  Swapper& one = world.add(terms(470 * kMib));
  world.allocate(&one, 300 * kMib);
  world.run(&one, kNever);
  world.runUntil(5 * kSecond);
  EXPECT_FALSE(contended(one)) << "everybody has what he needs";
  Swapper& two = world.add(terms(700 * kMib));
  world.allocate(&two, 300 * kMib);
  world.run(&two, kNever);
  while (one.mapped(0) == 300 * kMib && world.now() < 100 * kSecond)
    world.runUntil(world.now() + 10 * kMillisecond);
  ASSERT_LT(one.mapped(0), 300 * kMib);
  world.runUntil(world.now() + kSecond);
  EXPECT_TRUE(contended(two)) << "it has what the other one lacks";
  EXPECT_FALSE(contended(safe)) << "a guarantee is never taken";
  world.remove(&one);
  world.runUntil(world.now() + kSecond);
  EXPECT_FALSE(contended(two));
  world.remove(&safe);
  world.allocate(&two, 300 * kMib);
  world.runUntil(world.now() + kSecond);
  EXPECT_FALSE(contended(two)) << "more than the card has, but nobody else lacks any";
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, Guarantee_IsNeverTaken) {
  MemoryWorld world(smallCard());
  Swapper& safe = world.add(terms(400 * kMib, 300 * kMib));
  world.allocate(&safe, 380 * kMib);
  world.run(&safe, kSecond);
  world.runUntil(5 * kSecond);
  EXPECT_EQ(safe.mapped(0), 380 * kMib);
  addBatch(&world, 2, 150 * kMib);
  for (Nanos at = 5 * kSecond; at < 100 * kSecond; at += 10 * kMillisecond) {
    world.runUntil(at);
    ASSERT_GE(safe.mapped(0), 300 * kMib);
  }
  EXPECT_LT(safe.mapped(0), 380 * kMib) << "what it is not guaranteed, it was to give";
  EXPECT_EQ(world.fault(), "");
}

// A tenant that has nearly all of the card stood still for good once another one's processes had
// opened one context after the other.
TEST(Residency, PinnedContexts_OthersKeepRunning) {
  MemoryWorld world(smallCard());
  Swapper& large = world.add(terms(472 * kMib));
  world.pin(&large, 8 * kMib);
  world.allocate(&large, 460 * kMib);
  world.run(&large, kNever);
  world.runUntil(5 * kSecond);
  Swapper& small = world.add(terms(100 * kMib));
  world.run(&small, kNever);
  for (int processes = 0; processes < 3; ++processes) {
    world.pin(&small, 8 * kMib);
    world.runUntil(world.now() + 10 * kSecond);
  }
  world.runUntil(100 * kSecond);
  const Nanos ran = large.ran;
  world.runUntil(200 * kSecond);
  EXPECT_GT(large.ran, ran + 20 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

// What was lent beyond guarantees is called back from whoever has it, busy or not.
TEST(Residency, Guarantee_IsReclaimedAtOnce) {
  MemoryWorld world(smallCard());
  Swapper& busy = world.add(terms(470 * kMib, 0, PriorityClass::kLatency));
  world.allocate(&busy, 450 * kMib);
  world.run(&busy, kNever);
  Swapper& safe = world.add(terms(200 * kMib, 200 * kMib, PriorityClass::kBestEffort));
  world.runUntil(10 * kSecond);
  world.allocate(&safe, 150 * kMib);
  world.run(&safe, kNever);
  world.runUntil(12 * kSecond);
  EXPECT_EQ(safe.mapped(0), 150 * kMib);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, HigherClass_TakesAtOnceLowerReturns) {
  MemoryWorld world(smallCard());
  Swapper& low = world.add(terms(470 * kMib, 0, PriorityClass::kBestEffort));
  world.allocate(&low, 450 * kMib);
  world.run(&low, kNever);
  Swapper& high = world.add(terms(470 * kMib, 0, PriorityClass::kLatency));
  world.allocate(&high, 300 * kMib);
  world.runUntil(5 * kSecond);
  EXPECT_TRUE(low.ready());
  world.run(&high, 3 * kSecond);
  world.runUntil(5 * kSecond + 100 * kMillisecond);
  EXPECT_TRUE(world.policy().stats(low.key).reason == ResidencyTargetReason::kHigherClass);
  world.runUntil(6 * kSecond);
  EXPECT_TRUE(high.ready());
  EXPECT_FALSE(low.ready());
  EXPECT_GT(high.ran, 0);
  // Until the higher class has been idle for a while.
  world.runUntil(9 * kSecond);
  EXPECT_FALSE(high.busy);
  EXPECT_FALSE(low.ready());
  world.runUntil(14 * kSecond);
  EXPECT_TRUE(low.ready());
  const Nanos ran = low.ran;
  world.runUntil(15 * kSecond);
  EXPECT_GT(low.ran, ran + kSecond * 9 / 10);
  EXPECT_EQ(world.fault(), "");
}

// Idle for as long as it may be: it gives its memory back although nobody wants it.
TEST(Residency, LongIdle_GivesMemoryBack) {
  MemorySettings settings = smallCard();
  settings.device.host_reserve = 250 * kMib;
  MemoryWorld world(settings);
  const auto add = [&](std::uint64_t bytes, std::uint64_t guarantee) -> Swapper& {
    ResidencyEntitlement asked = terms(400 * kMib, guarantee);
    asked.unused_after = 60 * kSecond;
    Swapper& swapper = world.add(asked);
    world.allocate(&swapper, bytes);
    world.run(&swapper, 2 * kSecond);
    return swapper;
  };
  Swapper& one = add(200 * kMib, 50 * kMib);
  Swapper& two = add(150 * kMib, 0);
  world.runUntil(50 * kSecond);
  EXPECT_EQ(one.copied_out + two.copied_out, 0u);
  EXPECT_EQ(world.policy().stats(one.key).reason, ResidencyTargetReason::kFits);
  world.runUntil(70 * kSecond);
  EXPECT_EQ(one.has(0), 50 * kMib) << "its guarantee stays";
  EXPECT_EQ(two.has(0), 50 * kMib) << "and what the host has no room for";
  for (const Swapper* each : {&one, &two})
    EXPECT_EQ(world.policy().stats(each->key).reason, ResidencyTargetReason::kUnused);
  EXPECT_EQ(world.policy().stats(one.key).taker, 0u);
  // Work brings it back at once, and with it the room that the other one lacked.
  const Nanos ran = one.ran;
  world.run(&one, kSecond);
  world.runUntil(72 * kSecond);
  EXPECT_GE(one.ran - ran, kSecond);
  EXPECT_TRUE(world.policy().stats(one.key).resident);
  EXPECT_EQ(world.policy().stats(one.key).reason, ResidencyTargetReason::kFits);
  EXPECT_LE(two.has(0), 8 * kMib);
  world.run(&two, kSecond);
  world.runUntil(80 * kSecond);
  EXPECT_GE(two.ran, 3 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, LongIdleCapturing_KeepsUntilItEnds) {
  MemoryWorld world(smallCard());
  ResidencyEntitlement asked = terms(400 * kMib);
  asked.unused_after = 10 * kSecond;
  Swapper& one = world.add(asked);
  world.allocate(&one, 200 * kMib);
  world.run(&one, kSecond);
  one.capturing = true;
  world.changed(&one);
  world.runUntil(30 * kSecond);
  EXPECT_EQ(one.copied_out, 0u);
  one.capturing = false;
  world.changed(&one);
  world.runUntil(40 * kSecond);
  EXPECT_EQ(one.copied_out, 192 * kMib) << "all but room for a context";
  // Nobody gives it back what it does not use, whatever its terms become.
  asked.unused_after = 0;
  world.policy().change(one.key, asked, world.now());
  world.runUntil(60 * kSecond);
  EXPECT_EQ(one.copied_in, 0u);
  world.run(&one, kSecond);
  world.runUntil(120 * kSecond);
  EXPECT_EQ(one.copied_in, 192 * kMib);
  EXPECT_GE(one.ran, 2 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

// For people: who has what it lacks. That is whoever has it now, not who took it first.
TEST(Residency, YieldedTenant_TakerIsNamed) {
  MemoryWorld world(smallCard());
  const auto add = [&](PriorityClass cls, std::uint64_t bytes) -> Swapper& {
    Swapper& swapper = world.add(terms(470 * kMib, 0, cls));
    world.allocate(&swapper, bytes);
    world.run(&swapper, kNever);
    world.runUntil(world.now() + 5 * kSecond);
    return swapper;
  };
  Swapper& low = add(PriorityClass::kBestEffort, 300 * kMib);
  EXPECT_EQ(world.policy().stats(low.key).taker, 0u);
  Swapper& normal = add(PriorityClass::kNormal, 300 * kMib);
  EXPECT_EQ(world.policy().stats(low.key).taker, normal.key);
  EXPECT_EQ(world.policy().stats(low.key).reason, ResidencyTargetReason::kHigherClass);
  Swapper& high = add(PriorityClass::kLatency, 400 * kMib);
  EXPECT_EQ(world.policy().stats(low.key).taker, high.key);
  EXPECT_EQ(world.policy().stats(normal.key).taker, high.key);
  world.remove(&high);
  world.runUntil(world.now() + 5 * kSecond);
  EXPECT_EQ(world.policy().stats(normal.key).taker, 0u);
  EXPECT_EQ(world.policy().stats(low.key).taker, normal.key);
  // Also one that comes late, and never had anything.
  Swapper& late = add(PriorityClass::kBestEffort, 300 * kMib);
  EXPECT_EQ(world.policy().stats(late.key).taker, normal.key);
  EXPECT_EQ(world.policy().stats(late.key).reason, ResidencyTargetReason::kHigherClass);
  world.remove(&normal);
  world.runUntil(world.now() + 30 * kSecond);
  EXPECT_GT(low.ran, kSecond);
  EXPECT_GT(late.ran, kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, LowerClass_TakesNothingFromBusyHigher) {
  MemoryWorld world(smallCard());
  Swapper& high = world.add(terms(470 * kMib, 0, PriorityClass::kNormal));
  world.allocate(&high, 450 * kMib);
  world.run(&high, kNever);
  world.runUntil(5 * kSecond);
  Swapper& low = world.add(terms(470 * kMib, 0, PriorityClass::kBestEffort));
  world.allocate(&low, 300 * kMib);
  world.run(&low, kNever);
  world.runUntil(200 * kSecond);
  EXPECT_TRUE(high.ready());
  EXPECT_EQ(high.copied_out, 0u);
  EXPECT_EQ(low.ran, 0);
  EXPECT_EQ(world.fault(), "");
}

TEST(Residency, CapturingTenant_IsPassedOver) {
  MemoryWorld world(smallCard());
  addBatch(&world, 2, 200 * kMib);
  world.swappers()[0]->capturing = true;
  world.changed(world.swappers()[0].get());
  world.runUntil(30 * kSecond);
  addBatch(&world, 1, 200 * kMib);
  world.runUntil(60 * kSecond);
  EXPECT_EQ(world.swappers()[0]->copied_out, 0u) << "it captures";
  EXPECT_GT(world.swappers()[1]->copied_out, 0u) << "it does not";
  EXPECT_GT(world.swappers()[2]->ran, kSecond);
  world.swappers()[0]->capturing = false;
  world.changed(world.swappers()[0].get());
  world.runUntil(90 * kSecond);
  EXPECT_GT(world.swappers()[0]->copied_out, 0u);
  EXPECT_EQ(world.fault(), "");
}

// A stopped process neither obeys nor refuses.
TEST(Residency, StoppedTenant_IsPassedOver) {
  MemoryWorld world(smallCard());
  addBatch(&world, 3, 200 * kMib);
  Swapper& stopped = *world.swappers()[0];
  world.runUntil(30 * kSecond);
  while (!stopped.ready()) world.runUntil(world.now() + kSecond);
  stopped.frozen = true;
  world.run(&stopped, 0);
  const std::vector<Nanos> before = ranSoFar(world);
  world.runUntil(world.now() + 120 * kSecond);
  EXPECT_GT(world.swappers()[1]->ran, before[1] + 20 * kSecond);
  EXPECT_GT(world.swappers()[2]->ran, before[2] + 20 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

// It was asked, and then began to capture: it runs on, and is asked again later.
TEST(Residency, RefusesAfterOrder_KeepsMemory) {
  MemoryWorld world(smallCard());
  addBatch(&world, 2, 300 * kMib);
  world.runUntil(30 * kSecond);
  Swapper& one = *world.swappers()[0];
  Swapper& other = *world.swappers()[1];
  while (!one.ready()) world.runUntil(world.now() + kSecond);
  // Until it is asked, the law does not know.
  world.on_order = [&](const Swapper& asked, const ResidencyTarget& order) {
    if (&asked == &one && order.allowed[0] < one.has(0)) one.capturing = true;
  };
  while (!one.capturing) world.runUntil(world.now() + kMillisecond);
  world.on_order = nullptr;
  const Nanos ran = one.ran;
  const std::uint64_t copied = one.copied_out;
  world.runUntil(world.now() + kSecond);
  EXPECT_GT(one.ran - ran, 9 * kSecond / 10) << "it goes on at once";
  EXPECT_EQ(one.copied_out, copied);
  const Nanos waited = other.ran;
  one.capturing = false;
  world.changed(&one);
  world.runUntil(world.now() + 3 * kSecond);
  EXPECT_GT(other.ran, waited) << "its turn was over";
  EXPECT_EQ(world.fault(), "");
}

// What tenants have as another agent left them stands.
TEST(Residency, InheritedAllocations_Stand) {
  Residency policy(ResidencyConstants{});
  policy.setDevice(0, smallCard().device);
  for (TenantKey key = 1; key <= 2; ++key) {
    policy.add(key, terms(400 * kMib), kSecond);
    ResidencyReport stay;
    stay.at[0] = {300 * kMib, key == 1 ? 300 * kMib : 100 * kMib, 0, 0,
                  key == 1 ? 310 * kMib : 120 * kMib};
    stay.ready = key == 1;
    stay.wants = true;
    policy.report(key, stay, kSecond);
  }
  const std::vector<ResidencyTarget> orders = policy.decide(kSecond);
  ASSERT_EQ(orders.size(), 2u);
  for (const ResidencyTarget& order : orders)
    EXPECT_GE(order.allowed[0], order.tenant == 1 ? 300 * kMib : 100 * kMib);
  EXPECT_LE(policy.device(0).booked, 480 * kMib);
}

TEST(Residency, FrequentSwaps_ThrashRiskIsSet) {
  MemorySettings settings = smallCard();
  settings.device.swap_cost.out_bps = settings.device.swap_cost.in_bps = 0.3e9;
  MemoryWorld world(settings);
  Swapper& a = world.add(terms(480 * kMib));
  Swapper& b = world.add(terms(480 * kMib));
  for (Swapper* each : {&a, &b}) world.allocate(each, 440 * kMib);
  world.runUntil(10 * kSecond);
  EXPECT_FALSE(world.policy().device(0).thrash_risk);
  for (unsigned i = 0; i < 24; ++i) {
    world.run(i % 2 == 0 ? &a : &b, 10 * kMillisecond);
    world.runUntil(world.now() + 2200 * kMillisecond);
  }
  EXPECT_TRUE(world.policy().device(0).thrash_risk);
  world.runUntil(world.now() + 70 * kSecond);
  EXPECT_FALSE(world.policy().device(0).thrash_risk);
  EXPECT_EQ(world.fault(), "");
}

// Also when there is less to be had than there was.
TEST(Residency, BudgetLowered_OverdraftLeavesFirst) {
  MemoryWorld world(smallCard());
  addBatch(&world, 2, 200 * kMib);
  world.runUntil(10 * kSecond);
  world.setBudget(300 * kMib);
  world.runUntil(12 * kSecond);
  EXPECT_LE(world.swappers()[0]->has(0) + world.swappers()[1]->has(0), 300 * kMib);
  world.runUntil(60 * kSecond);
  for (const auto& swapper : world.swappers()) EXPECT_GT(swapper->ran, 10 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

}  // namespace
}  // namespace divvy::arbiter::world
