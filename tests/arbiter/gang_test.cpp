// Tenants of several devices in virtual time: all of their devices or none, nobody starves, and
// nobody waits for ever for work that does not end.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdio>

#include "world/programs.h"
#include "world/record.h"

namespace divvy::arbiter::world {
namespace {

constexpr std::uint32_t both = 0b11;

// What a tenant got of each card, in the time between two looks.
class Window {
 public:
  Window(World* world, unsigned tenants) : world_(*world), tenants_(tenants) {
    began_ = world_.now();
    for (unsigned t = 0; t < tenants_; ++t)
      for (unsigned d = 0; d < world_.cards().size(); ++d) before_.push_back(world_.got(t, d));
  }
  double share(unsigned tenant, unsigned device) {
    const Nanos before = before_[tenant * world_.cards().size() + device];
    return static_cast<double>(world_.got(tenant, device) - before) /
           static_cast<double>(world_.now() - began_);
  }
  double used(unsigned device) {
    double sum = 0;
    for (unsigned t = 0; t < tenants_; ++t) sum += share(t, device);
    return sum;
  }

 private:
  World& world_;
  unsigned tenants_;
  Nanos began_;
  std::vector<Nanos> before_;
};

// Both ranks of each wait, on the card, for the other tenant's: neither ends before both run.
TEST(MultiDeviceTenants, SpinningOnEachOther_HandedOverAndEnd) {
  Settings settings;
  settings.cards = 2;
  World world(settings);
  struct Job {
    bool arrived[2] = {false, false};
  };
  Job jobs[2];
  const auto rank = [&world, &jobs](unsigned job, unsigned device) -> Program {
    return [&world, &jobs, job, device, step = 0](Random&, Nanos) mutable {
      if (step == 0) {
        // Says that it has come...
        ++step;
        Step say = launch(100 * kMicrosecond, device);
        say.done = [&world, &jobs, job, device] {
          jobs[job].arrived[device] = true;
          for (Card& card : world.cards()) world.timeline().in(0, [&card] { card.look(); });
        };
        return say;
      }
      if (step == 1) {
        // ... and spins until the other job's rank on this card has.
        ++step;
        Step spin = launch(kMillisecond, device);
        spin.released = &jobs[1 - job].arrived[device];
        return spin;
      }
      return Step{};
    };
  };
  const unsigned a = world.add({.devices = both}, {rank(0, 0), rank(0, 1)});
  const unsigned b = world.add({.devices = both}, {rank(1, 0), rank(1, 1)});
  world.runUntil(900 * kMillisecond);
  EXPECT_FALSE(world.ended(a) || world.ended(b)) << "nothing here waits for the other";
  const bool first = world.stats(a).gate == Gate::kHold && world.stats(a).grants > 0;
  world.runUntil(1200 * kMillisecond);
  EXPECT_TRUE(world.ended(a));
  EXPECT_TRUE(world.ended(b));
  EXPECT_EQ(world.stats(first ? a : b).undrained, 1u);
  EXPECT_EQ(world.fault(), "");
}

TEST(SchedulingPolicy, UnpreemptibleDrains_FlagIsCleared) {
  World world(Settings{});
  const unsigned odd = world.add({}, [step = 0](Random&, Nanos) mutable {
    return launch(step++ == 3 ? 2 * kSecond : kMillisecond);
  });
  const unsigned other = world.add({}, endless(fixed(kMillisecond)));
  bool was_one = false;
  while (world.now() < 3500 * kMillisecond) {
    world.runUntil(world.now() + 10 * kMillisecond);
    was_one = was_one || world.stats(odd).unpreemptible;
  }
  EXPECT_TRUE(was_one);
  EXPECT_GE(world.stats(odd).undrained, 1u);
  world.runUntil(10 * kSecond);
  EXPECT_FALSE(world.stats(odd).unpreemptible);
  Record record(&world, {odd, other});
  record.runFor(5 * kSecond);
  EXPECT_NEAR(record.share(0), 0.5, 0.05) << "what it owed is paid";
  EXPECT_EQ(world.fault(), "");
}

// It was shown as unpreemptible for ever: it had left, late, and no later turn of its own came.
TEST(SchedulingPolicy, UnpreemptibleRests_FlagIsCleared) {
  World world(Settings{});
  const unsigned odd = world.add({}, [step = 0](Random&, Nanos) mutable {
    return ++step == 4 ? launch(2 * kSecond) : step > 4 ? sleepFor(kSecond) : launch(kMillisecond);
  });
  world.add({}, endless(fixed(kMillisecond)));
  world.runUntil(1500 * kMillisecond);
  EXPECT_TRUE(world.stats(odd).unpreemptible);
  world.runUntil(5 * kSecond);
  EXPECT_FALSE(world.stats(odd).unpreemptible);
  EXPECT_EQ(world.fault(), "");
}

// Both tenants were charged half of the time, so that the one with the endless kernel, a little
// ahead since its first launches, never had another turn.
TEST(SchedulingPolicy, KernelAwaitsOtherProcess_TenantEnds) {
  World world(Settings{});
  bool arrived = false;
  const Program waits = [&, step = 0](Random&, Nanos) mutable {
    if (step++ != 0) return Step{};
    Step spin = launch(kMillisecond);
    spin.released = &arrived;
    return spin;
  };
  const Program raises = [&, step = 0](Random&, Nanos) mutable {
    if (++step == 1) return launch(30 * kMillisecond);
    if (step == 2) return sleepFor(100 * kMillisecond);
    if (step != 3) return Step{};
    Step raise = launch(kMillisecond);
    raise.done = [&] {
      arrived = true;
      for (Card& card : world.cards()) world.timeline().in(0, [&card] { card.look(); });
    };
    return raise;
  };
  world.add({}, endless(fixed(kMillisecond)));
  const unsigned pair = world.add({}, {waits, raises});
  world.runUntil(5 * kSecond);
  EXPECT_TRUE(world.ended(pair));
  EXPECT_EQ(world.fault(), "");
}

TEST(MultiDeviceTenants, WideBesideNarrow_EachGetsItsShare) {
  Settings settings;
  settings.cards = 2;
  World world(settings);
  world.add({.devices = both}, ranks(fixed(kMillisecond), {0, 1}));
  world.add({.devices = 0b01}, endless(fixed(kMillisecond), 0));
  world.add({.devices = 0b10}, endless(fixed(kMillisecond), 1));
  world.runUntil(kSecond);
  Window window(&world, 3);
  world.runUntil(11 * kSecond);
  std::printf("wide and two narrow: %.3f %.3f, narrow %.3f %.3f, used %.3f %.3f\n",
              window.share(0, 0), window.share(0, 1), window.share(1, 0), window.share(2, 1),
              window.used(0), window.used(1));
  for (unsigned device : {0u, 1u}) {
    EXPECT_NEAR(window.share(0, device) / window.used(device), 0.5, 0.04);
    EXPECT_GE(window.used(device), 0.9);
  }
  EXPECT_EQ(world.fault(), "");
}

// On one card it competes with three: what it cannot use of the other is not owed to it later.
TEST(MultiDeviceTenants, BusierDevice_ShareIsNotSavedUp) {
  Settings settings;
  settings.cards = 2;
  World world(settings);
  world.add({.devices = both}, ranks(fixed(kMillisecond), {0, 1}));
  const unsigned lucky = world.add({.devices = 0b01}, endless(fixed(kMillisecond), 0));
  std::vector<unsigned> crowd;
  for (int i = 0; i < 3; ++i)
    crowd.push_back(world.add({.devices = 0b10}, endless(fixed(kMillisecond), 1)));
  world.runUntil(kSecond);
  Window crowded(&world, 5);
  world.runUntil(11 * kSecond);
  EXPECT_NEAR(crowded.share(0, 1), 0.25, 0.04);
  EXPECT_GE(crowded.share(lucky, 0), 0.65) << "the wide one leaves it the rest";
  for (const unsigned tenant : crowd) world.remove(tenant);
  world.runUntil(world.now() + 500 * kMillisecond);
  Window window(&world, 2);
  world.runUntil(world.now() + kSecond);
  std::printf("wide %.3f, narrow %.3f after the crowd has gone\n", window.share(0, 0),
              window.share(lucky, 0));
  EXPECT_GE(window.share(lucky, 0), 0.4) << "starved by what the other had saved up";
  EXPECT_EQ(world.fault(), "");
}

RC_GTEST_PROP(MultiDeviceTenants, RandomMasks_EachTenantGetsItsPart, ()) {
  Settings settings;
  settings.cards = 4;
  settings.seed = *rc::gen::arbitrary<std::uint64_t>();
  World world(settings);
  const auto masks = *rc::gen::container<std::vector<std::uint32_t>>(
      *rc::gen::inRange<std::size_t>(2, 8), rc::gen::inRange(1u, 16u));
  std::uint32_t wanted = 0;
  for (const std::uint32_t mask : masks) {
    std::vector<unsigned> devices;
    for (unsigned d = 0; d < 4; ++d)
      if (mask >> d & 1) devices.push_back(d);
    world.add({.devices = mask},
              ranks(lognormal(kMillisecond, 0.7, 50 * kMicrosecond, 5 * kMillisecond), devices));
    wanted |= mask;
  }
  world.runUntil(kSecond);
  Window window(&world, static_cast<unsigned>(masks.size()));
  world.runUntil(6 * kSecond);
  RC_ASSERT(world.fault() == "");
  for (unsigned t = 0; t < masks.size(); ++t) {
    const auto device = static_cast<unsigned>(std::countr_zero(masks[t]));
    const double share = window.share(t, device);
    RC_LOG() << "tenant " << t << " devices " << masks[t] << " share " << share << "\n";
    // An equal part of the busiest card, or nearly.
    RC_ASSERT(share >= 0.6 / static_cast<double>(masks.size()));
  }
}

}  // namespace
}  // namespace divvy::arbiter::world
