// The law of residency in virtual time, where a tenant needs more than its device could ever give
// it: it runs with the host's memory for the rest, and nobody does who fits.
#include <gtest/gtest.h>

#include <random>

#include "world/small_card.h"

namespace divvy::arbiter::world {
namespace {

ResidencyEntitlement mapping(std::uint64_t ceiling, std::uint64_t guarantee = 0,
                             PriorityClass cls = PriorityClass::kNormal) {
  ResidencyEntitlement result = terms(ceiling, guarantee, cls);
  result.host_map = true;
  return result;
}

Swapper& addOne(MemoryWorld* world, const ResidencyEntitlement& asked, std::uint64_t bytes) {
  Swapper& one = world->add(asked);
  world->pin(&one, 8 * kMib);
  world->allocate(&one, bytes);
  world->run(&one, kNever);
  return one;
}

// Of all orders: what must hold of each.
void watch(MemoryWorld* world, unsigned* mapped) {
  world->on_order = [mapped](const Swapper&, const ResidencyTarget& order) {
    *mapped += order.host_map ? 1 : 0;
  };
}

TEST(HostMap, LargerThanDevice_RunsWithRestAtHost) {
  MemoryWorld world(smallCard());
  Swapper& large = addOne(&world, mapping(800 * kMib), 700 * kMib);
  world.runUntil(30 * kSecond);
  EXPECT_GT(large.ran, 28 * kSecond);
  EXPECT_GE(large.has(0), 478 * kMib);
  EXPECT_EQ(large.hosted(0), 700 * kMib - large.mapped(0));
  EXPECT_TRUE(world.policy().stats(large.key).host_map);
  EXPECT_EQ(world.policy().stats(large.key).reason, ResidencyTargetReason::kShort);
  EXPECT_EQ(world.fault(), "");
}

TEST(HostMap, HostMapUnavailable_TenantWaits) {
  for (const bool able : {false, true}) {
    MemoryWorld world(smallCard());
    ResidencyEntitlement asked = mapping(800 * kMib);
    asked.host_map = able;
    unsigned mapped = 0;
    watch(&world, &mapped);
    Swapper& large = world.add(asked);
    large.maps_host = !able;  // the agent will not, or the driver cannot
    world.allocate(&large, 700 * kMib);
    world.run(&large, kNever);
    world.runUntil(10 * kSecond);
    EXPECT_EQ(large.ran, 0);
    EXPECT_EQ(mapped, 0u);
    EXPECT_EQ(world.policy().stats(large.key).reason, ResidencyTargetReason::kShort);
    EXPECT_EQ(world.fault(), "");
  }
}

TEST(HostMap, FittingTenants_SwapWithoutHostMap) {
  MemoryWorld world(smallCard());
  unsigned mapped = 0;
  watch(&world, &mapped);
  for (int i = 0; i < 2; ++i) addOne(&world, mapping(460 * kMib), 400 * kMib);
  world.runUntil(100 * kSecond);
  EXPECT_EQ(mapped, 0u);
  for (const auto& each : world.swappers()) {
    EXPECT_GT(each->ran, 30 * kSecond);
    EXPECT_GT(each->copied_out, 400 * kMib);
  }
  EXPECT_EQ(world.fault(), "");
}

TEST(HostMap, FittingAndLarger_TakeTurns) {
  MemoryWorld world(smallCard());
  Swapper& large = addOne(&world, mapping(800 * kMib), 600 * kMib);
  Swapper& small = addOne(&world, mapping(300 * kMib), 200 * kMib);
  for (int second = 1; second <= 200; ++second) {
    world.runUntil(second * kSecond);
    EXPECT_EQ(small.hosted(0), 0u) << "it fits";
  }
  EXPECT_GT(large.ran, 60 * kSecond);
  EXPECT_GT(small.ran, 60 * kSecond);
  EXPECT_GT(large.hosted(0), 100 * kMib);
  EXPECT_GE(world.policy().stats(small.key).swaps, 5u);
  EXPECT_EQ(world.fault(), "");
}

TEST(HostMap, RoomFreed_HostMemoryComesBack) {
  MemoryWorld world(smallCard());
  ResidencyEntitlement fixed = terms(200 * kMib);
  fixed.swappable = false;
  Swapper& holder = world.add(fixed);
  world.pin(&holder, 200 * kMib);
  Swapper& large = addOne(&world, mapping(460 * kMib), 400 * kMib);
  world.runUntil(10 * kSecond);
  EXPECT_GT(large.ran, 8 * kSecond);
  EXPECT_GT(large.hosted(0), 100 * kMib);
  world.remove(&holder);
  world.runUntil(20 * kSecond);
  EXPECT_EQ(large.hosted(0), 0u);
  EXPECT_EQ(large.mapped(0), 400 * kMib);
  EXPECT_GT(large.ran, 17 * kSecond);
  EXPECT_FALSE(world.policy().stats(large.key).host_map);
  EXPECT_EQ(world.fault(), "");
}

TEST(HostMap, HostReserve_BoundsTarget) {
  MemorySettings settings = smallCard();
  settings.device.host_reserve = 150 * kMib;
  MemoryWorld world(settings);
  std::uint64_t most = 0;
  Swapper& large = world.add(mapping(800 * kMib));
  world.on_order = [&](const Swapper& who, const ResidencyTarget& order) {
    if (&who == &large) most = order.most[0];
  };
  world.allocate(&large, 100 * kMib);
  world.run(&large, kNever);
  world.runUntil(kSecond);
  EXPECT_EQ(most, 630 * kMib);
  // In the large one's turn all of this is with the host, too.
  Swapper& small = world.add(mapping(300 * kMib));
  world.allocate(&small, 100 * kMib);
  world.runUntil(2 * kSecond);
  EXPECT_EQ(most, 480 * kMib - 8 * kMib + 150 * kMib - 92 * kMib);
  EXPECT_EQ(world.fault(), "");
}

class RandomHostMap : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomHostMap, RandomEvents_BookWithinBudget) {
  MemorySettings settings = smallCard();
  settings.seed = GetParam();
  MemoryWorld world(settings);
  std::mt19937_64 random(GetParam());
  const auto pick = [&](std::uint64_t most) { return random() % most; };
  std::vector<Swapper*> live;
  unsigned mapped = 0;
  watch(&world, &mapped);
  Nanos hosted_for = 0;
  while (world.events() < 20'000 && world.fault().empty()) {
    if (live.size() < 3) {
      live.push_back(&world.add(mapping((100 + pick(900)) * kMib, pick(2) * 20 * kMib,
                                        static_cast<PriorityClass>(pick(3)))));
      live.back()->maps_host = pick(4) != 0;
      world.allocate(live.back(), (50 + pick(600)) * kMib);
    }
    const std::size_t index = pick(live.size());
    Swapper* one = live[index];
    if (const auto what = pick(8); what < 2) {
      what == 0 ? world.allocate(one, pick(200) * kMib) : world.free(one, pick(200) * kMib);
    } else if (what < 7) {
      world.run(one, what == 2 ? 0 : static_cast<Nanos>(pick(5000)) * kMillisecond + 1);
    } else if (pick(10) == 0) {
      world.remove(one);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    }
    const auto step = static_cast<Nanos>(pick(400)) * kMillisecond;
    world.runUntil(world.now() + step);
    for (const Swapper* each : live) hosted_for += each->hosted(0) != 0 ? step : 0;
  }
  EXPECT_EQ(world.fault(), "");
  EXPECT_GT(mapped, 3u);
  EXPECT_GT(hosted_for, 5 * kSecond) << "nothing was asked of it";
}

INSTANTIATE_TEST_SUITE_P(HostMap, RandomHostMap, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace divvy::arbiter::world
