// Caps in virtual time: never more than so much of wall time, and not less either.
#include <gtest/gtest.h>

#include <cstdio>

#include "world/programs.h"
#include "world/record.h"

namespace divvy::arbiter::world {
namespace {

const std::vector<std::pair<const char*, Lengths>>& kernels() {
  static const std::vector<std::pair<const char*, Lengths>> all = {
      {"0.05 ms", fixed(50 * kMicrosecond)},
      {"1 ms", fixed(kMillisecond)},
      {"20 ms", fixed(20 * kMillisecond)},
      {"lognormal 2 ms", lognormal(2 * kMillisecond, 1.2)}};
  return all;
}

TEST(ComputeCap, LoneTenant_MeanStaysAtCap) {
  for (const unsigned cap : {20u, 50u, 80u}) {
    for (const auto& [name, lengths] : kernels()) {
      World world(Settings{});
      const unsigned tenant = world.add({.ceiling = cap}, endless(lengths));
      world.runUntil(2 * kSecond);
      Record record(&world, {tenant});
      record.runFor(20 * kSecond);
      ASSERT_EQ(world.fault(), "");
      const double mean = 100 * record.total();
      const double most = record.most(0, kSecond);
      std::printf("cap %u %%, kernels of %-14s mean %6.2f %%, most in 1 s %6.2f %%, %lu grants/s\n",
                  cap, name, mean, most, world.stats(tenant).grants / 22);
      EXPECT_NEAR(mean, cap, 2) << name;
      EXPECT_LE(most, cap + 5) << name;
    }
  }
}

TEST(ComputeCap, TenantBelowCap_IsNotThrottled) {
  World world(Settings{});
  const unsigned tenant =
      world.add({.ceiling = 80}, launchBound(fixed(100 * kMicrosecond), 100 * kMicrosecond));
  Record record(&world, {tenant});
  world.runUntil(kSecond);
  record.runFor(5 * kSecond);
  EXPECT_GE(record.total(), 0.47);
  EXPECT_LE(world.stats(tenant).throttled, 50 * kMillisecond);
}

TEST(ComputeCap, BesideOther_CapHeldRestUsed) {
  for (const auto& [name, lengths] : kernels()) {
    World world(Settings{});
    const unsigned capped = world.add({.guarantee = 20, .ceiling = 20}, endless(lengths));
    const unsigned other = world.add({}, endless(fixed(kMillisecond)));
    world.runUntil(2 * kSecond);
    Record record(&world, {capped, other});
    record.runFor(20 * kSecond);
    ASSERT_EQ(world.fault(), "");
    std::printf("cap 20 %% beside another, kernels of %-14s share %.3f, in all %.3f\n", name,
                record.share(0), record.total());
    EXPECT_NEAR(100 * record.share(0) * record.total(), 20, 2) << name;
    EXPECT_LE(record.most(0, kSecond), 25) << name;
    EXPECT_GE(record.total(), 0.95) << name;
  }
}

// Between guarantee and ceiling: what others leave, up to the ceiling.
TEST(ComputeCap, OthersIdle_BurstsToCeiling) {
  World world(Settings{});
  const unsigned bursty = world.add({.guarantee = 20, .ceiling = 60}, endless(fixed(kMillisecond)));
  const unsigned other =
      world.add({.guarantee = 80}, dutyCycled(fixed(kMillisecond), 2 * kSecond, 2 * kSecond));
  world.runUntil(200 * kMillisecond);
  Record busy(&world, {bursty, other});
  busy.runFor(1500 * kMillisecond);
  EXPECT_NEAR(busy.share(0), 0.2, 0.02);
  world.runUntil(2200 * kMillisecond);
  Record idle(&world, {bursty, other});
  idle.runFor(1500 * kMillisecond);
  EXPECT_NEAR(idle.total(), 0.6, 0.02);
  EXPECT_EQ(world.fault(), "");
}

TEST(ComputeCap, LatencyClass_IsCappedToo) {
  World world(Settings{});
  const unsigned front =
      world.add({.cls = PriorityClass::kLatency, .ceiling = 50}, endless(fixed(kMillisecond)));
  const unsigned low =
      world.add({.cls = PriorityClass::kBestEffort}, endless(fixed(100 * kMicrosecond)));
  world.runUntil(kSecond);
  Record record(&world, {front, low});
  record.runFor(10 * kSecond);
  ASSERT_EQ(world.fault(), "");
  EXPECT_NEAR(100 * record.share(0) * record.total(), 50, 3);
  EXPECT_GE(record.total(), 0.9);
}

}  // namespace
}  // namespace divvy::arbiter::world
