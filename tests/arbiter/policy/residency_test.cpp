// The law of residency in virtual time: its book never exceeds a budget, nobody starves, and swaps
// cost what they may cost.
#include "arbiter/residency.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>

#include "world/small_card.h"

namespace divvy::arbiter::world {
namespace {

struct Case {
  double ratio;
  double loss;  // the target
};

class LossTest : public ::testing::TestWithParam<Case> {};

TEST_P(LossTest, TwoBatchTenants_LossWithinTarget) {
  MemoryWorld world(smallCard());
  const auto each = static_cast<std::uint64_t>(GetParam().ratio * 464 / 2) * kMib;
  addBatch(&world, 2, each);
  world.runUntil(30 * kSecond);
  const Nanos from = world.now();
  const std::vector<Nanos> before = ranSoFar(world);
  world.runUntil(from + 600 * kSecond);
  const double loss = 1 - used(world, from, before);
  const double share = static_cast<double>(world.swappers()[0]->ran - before[0]) /
                       static_cast<double>(world.now() - from) / (1 - loss);
  std::printf("ratio %.1f: loss %.2f %% (target %.0f), quantum %.2f s, swap %.0f ms, error %.2f\n",
              GetParam().ratio, 100 * loss, 100 * GetParam().loss,
              static_cast<double>(world.policy().device(0).quantum) / 1e9,
              static_cast<double>(world.policy().device(0).swap_predicted) / 1e6,
              world.policy().device(0).prediction_error);
  EXPECT_EQ(world.fault(), "");
  EXPECT_LE(loss, GetParam().loss + 0.01);
  EXPECT_NEAR(share, 0.5, 0.05);
  for (const auto& swapper : world.swappers())
    EXPECT_GE(world.policy().stats(swapper->key).swaps, 10u);
  EXPECT_LE(world.policy().device(0).prediction_error, 0.2);
}

INSTANTIATE_TEST_SUITE_P(Residency, LossTest, ::testing::Values(Case{1.3, 0.03}, Case{2.0, 0.08}));

TEST(Residency, EverythingFits_NothingIsSwapped) {
  MemoryWorld world(smallCard());
  addBatch(&world, 2, 200 * kMib);
  world.runUntil(100 * kSecond);
  EXPECT_EQ(world.fault(), "");
  for (const auto& swapper : world.swappers()) {
    EXPECT_EQ(swapper->copied_out, 0u);
    EXPECT_GT(swapper->ran, 49 * kSecond);
  }
}

// Everything that can happen, at random. Seeds differ in how much is asked for.
class ResidencyRandomTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ResidencyRandomTest, RandomEvents_BookWithinBudget) {
  MemorySettings settings = smallCard();
  settings.seed = GetParam();
  settings.devices = 1 + GetParam() % 2;
  MemoryWorld world(settings);
  std::mt19937_64 random(GetParam());
  const auto pick = [&](std::uint64_t most) { return random() % most; };
  std::vector<Swapper*> live;
  // Guarantees and what is pinned never ask for more than there is: admission sees to that.
  while (world.events() < 20'000 && world.fault().empty()) {
    if (live.size() < 3 || (live.size() < 8 && pick(40) == 0)) {
      const auto cls = static_cast<PriorityClass>(pick(3));
      ResidencyEntitlement asked = terms((60 + pick(300)) * kMib, pick(2) * 20 * kMib, cls);
      asked.unused_after = pick(3) == 0 ? static_cast<Nanos>(1 + pick(3)) * kSecond : 0;
      if (settings.devices == 2) {
        asked.devices = 1 + static_cast<std::uint32_t>(pick(3));
        for (DeviceBytes* bytes : {&asked.ceiling, &asked.guarantee, &asked.base}) {
          (*bytes)[1] = asked.devices > 1 ? (*bytes)[0] : 0;
          if (asked.devices == 2) (*bytes)[0] = 0;
        }
      }
      live.push_back(&world.add(asked));
      for (unsigned d = 0; d < 2; ++d) world.allocate(live.back(), (20 + pick(300)) * kMib, d);
    }
    const std::size_t index = pick(live.size());
    Swapper* one = live[index];
    const auto device = static_cast<unsigned>(pick(2));
    switch (pick(9)) {
      case 0:
        world.allocate(one, pick(64) * kMib, device);
        break;
      case 1:
        world.free(one, pick(64) * kMib, device);
        break;
      case 2:
        if (one->has(device) < 200 * kMib && pick(6) == 0) world.pin(one, pick(6) * kMib, device);
        break;
      case 3:
        world.run(one, 0);
        break;
      case 4:
      case 5:
        world.run(one, static_cast<Nanos>(pick(5000)) * kMillisecond + 1);
        break;
      case 6:
        one->capturing = !one->capturing && pick(2) == 0;
        world.changed(one);
        break;
      case 7:
        if (pick(10) == 0) one->frozen = true;
        break;
      case 8:
        if (!one->frozen && pick(20) != 0) break;
        world.remove(one);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        break;
    }
    world.runUntil(world.now() + static_cast<Nanos>(pick(400)) * kMillisecond);
  }
  EXPECT_EQ(world.fault(), "");
  std::uint64_t copied = 0;
  for (const auto& swapper : world.swappers()) copied += swapper->copied_out;
  EXPECT_GT(copied, 480 * kMib) << "nothing was asked of it";
}

INSTANTIATE_TEST_SUITE_P(Residency, ResidencyRandomTest, ::testing::Range(1u, 11u));

// Nobody waits for longer than the others' turns and the swaps between them, whatever each asks
// for.
TEST(Residency, RandomLoads_EachTenantRuns) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    MemorySettings settings = smallCard();
    settings.seed = seed;
    MemoryWorld world(settings);
    std::mt19937_64 random(seed);
    const unsigned count = 2 + static_cast<unsigned>(random() % 4);
    for (unsigned i = 0; i < count; ++i)
      addBatch(&world, 1, (60 + random() % (472 - 8 * count - 60)) * kMib);
    std::vector<Nanos> before = ranSoFar(world);
    for (unsigned window = 0; window < 5; ++window) {
      // A turn of each, at the longest, and their swaps.
      world.runUntil(world.now() + count * 12 * kSecond);
      const std::vector<Nanos> after = ranSoFar(world);
      for (unsigned i = 0; i < count; ++i)
        EXPECT_GT(after[i], before[i]) << "tenant " << i << " of " << count << ", seed " << seed;
      before = after;
    }
    EXPECT_EQ(world.fault(), "");
  }
}

TEST(Residency, Weights_SetTurnLength) {
  MemoryWorld world(smallCard());
  ResidencyEntitlement heavy = terms(472 * kMib);
  ResidencyEntitlement light = heavy;
  heavy.weight = 60;
  light.weight = 20;
  for (const ResidencyEntitlement& each : {heavy, light}) {
    Swapper& swapper = world.add(each);
    world.allocate(&swapper, 400 * kMib);
    world.run(&swapper, kNever);
  }
  world.runUntil(600 * kSecond);
  EXPECT_EQ(world.fault(), "");
  const auto ratio =
      static_cast<double>(world.swappers()[0]->ran) / static_cast<double>(world.swappers()[1]->ran);
  EXPECT_NEAR(ratio, 3, 0.3);
}

// A pause that is too short to take its memory in does not give it another turn.
TEST(Residency, PausingTenant_LeavesAtTurnsEnd) {
  MemorySettings settings = smallCard();
  settings.device.swap_cost.out_bps = settings.device.swap_cost.in_bps = 0.1e9;
  MemoryWorld world(settings);
  Swapper& pausing = world.add(terms(470 * kMib));
  Swapper& steady = world.add(terms(470 * kMib));
  for (Swapper* each : {&pausing, &steady}) world.allocate(each, 400 * kMib);
  world.run(&pausing, 300 * kMillisecond);
  world.runUntil(10 * kSecond);
  for (unsigned i = 0; i < 400; ++i) {
    world.run(&pausing, 300 * kMillisecond);
    if (i == 2) world.run(&steady, kNever);
    world.runUntil(world.now() + 400 * kMillisecond);
  }
  EXPECT_GT(steady.ran, kSecond);
  EXPECT_EQ(world.fault(), "");
}

// An idle holder makes room at once: four services on a quarter of their memory.
TEST(Residency, StaggeredServices_WaitOneSwap) {
  MemoryWorld world(smallCard());
  std::mt19937_64 random(7);
  std::vector<Swapper*> services;
  for (unsigned i = 0; i < 4; ++i) {
    services.push_back(&world.add(terms(480 * kMib)));
    world.pin(services.back(), 8 * kMib);
    world.allocate(services.back(), 440 * kMib);
  }
  const Nanos swap = 440 * static_cast<Nanos>(kMib) * 10 / 8;
  std::size_t late = 0;
  std::size_t all = 0;
  for (unsigned i = 0; i < 200; ++i) {
    Swapper* one = services[random() % 4];
    one->waits.clear();
    world.run(one, 100 * kMillisecond);
    world.runUntil(world.now() + 2 * kSecond);
    ASSERT_EQ(one->waits.size(), 1u);
    ++all;
    late += one->waits.front() > swap + 100 * kMillisecond ? 1 : 0;
  }
  EXPECT_EQ(world.fault(), "");
  EXPECT_LE(late, all / 100);
}

// Its own class takes nothing from a busy holder before that: losses stay below a sixth.
TEST(Residency, BusyHolder_StaysFiveSwaps) {
  MemoryWorld world(smallCard());
  addBatch(&world, 2, 400 * kMib);
  const Nanos swap = 400 * static_cast<Nanos>(kMib) * 10 / 8;
  std::array<Nanos, 2> since{-1, -1};
  unsigned turns = 0;
  for (Nanos at = 0; at < 200 * kSecond; at += 5 * kMillisecond) {
    world.runUntil(at);
    for (unsigned i = 0; i < 2; ++i) {
      const bool runs = world.swappers()[i]->ready();
      if (runs && since[i] < 0) since[i] = at;
      if (runs || since[i] < 0) continue;
      EXPECT_GE(at - since[i], 5 * swap);
      ++turns;
      since[i] = -1;
    }
  }
  EXPECT_GE(turns, 20u);
}

TEST(Residency, SmallTenant_ServedPastLarge) {
  MemoryWorld world(smallCard());
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(kSecond);
  addBatch(&world, 1, 300 * kMib);
  world.runUntil(kSecond + 100 * kMillisecond);
  addBatch(&world, 1, 60 * kMib);
  world.runUntil(kSecond + 500 * kMillisecond);
  EXPECT_TRUE(world.swappers()[2]->ready()) << "there is room for it";
  EXPECT_FALSE(world.swappers()[1]->ready());
  world.runUntil(60 * kSecond);
  EXPECT_GT(world.swappers()[1]->ran, 10 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

// A tenant of two devices is given both, or waits; its neighbours on either take turns with it.
TEST(Residency, TwoDevices_AllOrNone) {
  MemorySettings settings = smallCard();
  settings.devices = 2;
  MemoryWorld world(settings);
  ResidencyEntitlement wide = terms(470 * kMib);
  wide.devices = 3;
  wide.ceiling[1] = wide.ceiling[0];
  wide.base[1] = wide.base[0];
  ResidencyEntitlement right = terms(470 * kMib);
  right.devices = 2;
  std::swap(right.ceiling[0], right.ceiling[1]);
  std::swap(right.base[0], right.base[1]);
  Swapper& both = world.add(wide);
  Swapper& first = world.add(terms(470 * kMib));
  Swapper& second = world.add(right);
  for (unsigned d = 0; d < 2; ++d) world.allocate(&both, 300 * kMib, d);
  world.allocate(&first, 300 * kMib, 0);
  world.allocate(&second, 300 * kMib, 1);
  for (Swapper* each : {&both, &first, &second}) world.run(each, kNever);
  for (Nanos at = 0; at < 300 * kSecond; at += 10 * kMillisecond) {
    world.runUntil(at);
    const DeviceBytes allowed = world.policy().stats(both.key).allowed;
    const bool left = allowed[0] >= 300 * kMib;
    const bool right_too = allowed[1] >= 300 * kMib;
    const ResidencyStats figures = world.policy().stats(both.key);
    if (!figures.resident) {
      ASSERT_FALSE(left && right_too) << at;
    }
    if (figures.eligible) {
      ASSERT_TRUE(left && right_too) << at;
    }
  }
  for (Swapper* each : {&both, &first, &second}) EXPECT_GT(each->ran, 50 * kSecond);
  EXPECT_EQ(world.fault(), "");
}

}  // namespace
}  // namespace divvy::arbiter::world
