// The law of residency in virtual time, where swapping is not enough: tenants are parked with what
// never leaves by itself.
#include <gtest/gtest.h>

#include <random>

#include "world/small_card.h"

namespace divvy::arbiter::world {
namespace {

ResidencyEntitlement parkable(std::uint64_t ceiling,
                              PriorityClass cls = PriorityClass::kBestEffort) {
  ResidencyEntitlement result = terms(ceiling, 0, cls);
  result.parkable = true;
  return result;
}

// One of 300 MiB that cannot be swapped, on a card of 480.
Swapper& addHolder(MemoryWorld* world, const ResidencyEntitlement& terms) {
  Swapper& holder = world->add(terms);
  world->pin(&holder, 300 * kMib);
  world->run(&holder, kNever);
  world->runUntil(world->now() + kSecond);
  return holder;
}

Swapper& addNeedy(MemoryWorld* world, PriorityClass cls, Nanos work) {
  Swapper& needy = world->add(terms(400 * kMib, 0, cls));
  world->pin(&needy, 8 * kMib);
  world->allocate(&needy, 300 * kMib);
  world->run(&needy, work);
  return needy;
}

TEST(Parking, HigherClassNeedsRoom_ParkedAndReturns) {
  MemoryWorld world(smallCard());
  Swapper& low = addHolder(&world, parkable(400 * kMib));
  ASSERT_EQ(low.has(0), 300 * kMib);
  Swapper& high = addNeedy(&world, PriorityClass::kLatency, 5 * kSecond);
  world.runUntil(5 * kSecond);
  EXPECT_TRUE(low.parked());
  EXPECT_TRUE(high.ready());
  const Nanos ran = low.ran;
  world.runUntil(world.now() + kSecond);
  EXPECT_EQ(low.ran, ran) << "it has no turn before it is back";
  world.runUntil(30 * kSecond);
  EXPECT_FALSE(high.busy);
  EXPECT_FALSE(low.parked());
  EXPECT_EQ(low.parks, 1u);
  EXPECT_GT(low.ran, ran + 10 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, SwappingSuffices_NoParking) {
  MemoryWorld world(smallCard());
  Swapper& low = world.add(parkable(400 * kMib));
  world.pin(&low, 100 * kMib);
  world.allocate(&low, 200 * kMib);
  world.run(&low, kNever);
  world.runUntil(kSecond);
  Swapper& high = addNeedy(&world, PriorityClass::kLatency, kNever);
  world.runUntil(20 * kSecond);
  EXPECT_GT(high.ran, 10 * kSecond);
  EXPECT_EQ(low.parks, 0u);
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, NotParkableOrHigherClass_Stays) {
  for (const bool able : {false, true}) {
    MemoryWorld world(smallCard());
    ResidencyEntitlement asked =
        parkable(400 * kMib, able ? PriorityClass::kLatency : PriorityClass::kBestEffort);
    asked.parkable = able;
    Swapper& holder = addHolder(&world, asked);
    Swapper& needy =
        addNeedy(&world, able ? PriorityClass::kBestEffort : PriorityClass::kLatency, kNever);
    world.runUntil(60 * kSecond);
    EXPECT_EQ(holder.parks, 0u);
    EXPECT_EQ(needy.ran, 0);
    EXPECT_GT(holder.ran, 50 * kSecond);
    EXPECT_EQ(world.policy().stats(needy.key).reason, ResidencyTargetReason::kShort);
    EXPECT_EQ(world.fault(), "");
  }
}

TEST(Parking, IdleTenant_ParkedForItsClass) {
  MemoryWorld world(smallCard());
  Swapper& idle = addHolder(&world, parkable(400 * kMib, PriorityClass::kNormal));
  world.run(&idle, 0);
  world.runUntil(world.now() + kSecond);
  Swapper& needy = addNeedy(&world, PriorityClass::kNormal, 3 * kSecond);
  world.runUntil(world.now() + 4 * kSecond);
  EXPECT_EQ(idle.parks, 1u);
  EXPECT_GT(needy.ran, kSecond);
  world.runUntil(world.now() + 30 * kSecond);
  EXPECT_FALSE(idle.parked());
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, TwoOfAClass_TakeTurnsParked) {
  MemoryWorld world(smallCard());
  Swapper& one = addHolder(&world, parkable(400 * kMib, PriorityClass::kNormal));
  Swapper& two = addNeedy(&world, PriorityClass::kNormal, kNever);
  world.runUntil(200 * kSecond);
  EXPECT_GE(one.parks, 3u);
  EXPECT_GT(one.ran, 60 * kSecond);
  EXPECT_GT(two.ran, 60 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, Guarantee_ReclaimedByParking) {
  MemoryWorld world(smallCard());
  Swapper& holder = addHolder(&world, parkable(400 * kMib, PriorityClass::kNormal));
  Swapper& needy = world.add(terms(300 * kMib, 250 * kMib, PriorityClass::kNormal));
  world.pin(&needy, 240 * kMib);
  world.run(&needy, kNever);
  world.runUntil(20 * kSecond);
  EXPECT_TRUE(holder.parked());
  EXPECT_EQ(needy.has(0), 240 * kMib);
  EXPECT_GT(needy.ran, 10 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, ParkingFails_TenantKeepsRunning) {
  MemoryWorld world(smallCard());
  bool works = false;
  world.parks = [&] { return works; };
  Swapper& low = addHolder(&world, parkable(400 * kMib));
  Swapper& high = addNeedy(&world, PriorityClass::kLatency, kNever);
  world.runUntil(20 * kSecond);
  EXPECT_EQ(low.parks, 0u);
  EXPECT_EQ(low.has(0), 300 * kMib);
  EXPECT_GT(low.ran, kSecond) << "between attempts it runs";
  works = true;
  world.runUntil(40 * kSecond);
  EXPECT_TRUE(low.parked());
  EXPECT_GT(high.ran, 5 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

TEST(Parking, HostReserveTooSmall_NoParking) {
  MemorySettings settings = smallCard();
  settings.device.host_reserve = 200 * kMib;
  MemoryWorld world(settings);
  Swapper& low = addHolder(&world, parkable(400 * kMib));
  Swapper& high = addNeedy(&world, PriorityClass::kLatency, kNever);
  world.runUntil(20 * kSecond);
  EXPECT_EQ(low.parks, 0u);
  EXPECT_EQ(high.ran, 0);
  EXPECT_EQ(world.fault(), "");
}

class ParkingRandomTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ParkingRandomTest, RandomEvents_BookHoldsAllReturn) {
  MemorySettings settings = smallCard();
  settings.seed = GetParam();
  settings.devices = 1 + GetParam() % 2;
  MemoryWorld world(settings);
  std::mt19937_64 random(GetParam());
  const auto pick = [&](std::uint64_t most) { return random() % most; };
  world.parks = [&] { return pick(4) != 0; };
  std::vector<Swapper*> live;
  while (world.events() < 20'000 && world.fault().empty()) {
    if (live.size() < 3 || (live.size() < 6 && pick(40) == 0)) {
      ResidencyEntitlement asked =
          parkable((60 + pick(300)) * kMib, static_cast<PriorityClass>(pick(3)));
      asked.parkable = pick(4) != 0;
      if (settings.devices == 2) {
        asked.devices = 3;
        for (DeviceBytes* bytes : {&asked.ceiling, &asked.base}) (*bytes)[1] = (*bytes)[0];
      }
      live.push_back(&world.add(asked));
      world.allocate(live.back(), pick(150) * kMib);
    }
    const std::size_t index = pick(live.size());
    Swapper* one = live[index];
    const auto device = static_cast<unsigned>(pick(settings.devices));
    switch (pick(6)) {
      case 0:
        if (!one->parked()) world.allocate(one, pick(64) * kMib, device);
        break;
      case 1:
        if (!one->parked() && pick(4) == 0) world.pin(one, pick(100) * kMib, device);
        break;
      case 2:
        if (!one->parked()) world.free(one, pick(64) * kMib, device);
        break;
      case 3:
        if (pick(30) != 0) break;
        world.remove(one);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        break;
      default:
        if (!one->parked()) world.run(one, static_cast<Nanos>(pick(5000)) * kMillisecond + 1);
        break;
    }
    world.runUntil(world.now() + static_cast<Nanos>(pick(400)) * kMillisecond);
  }
  EXPECT_EQ(world.fault(), "");
  unsigned parks = 0;
  for (const auto& swapper : world.swappers()) parks += swapper->parks;
  EXPECT_GT(parks, 0u) << "nothing was asked of it";
  // The others go one by one: then whoever is parked comes back.
  while (live.size() > 1) {
    world.remove(live.back());
    live.pop_back();
    world.runUntil(world.now() + 20 * kSecond);
  }
  EXPECT_FALSE(live.front()->parked());
}

INSTANTIATE_TEST_SUITE_P(Parking, ParkingRandomTest, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace divvy::arbiter::world
