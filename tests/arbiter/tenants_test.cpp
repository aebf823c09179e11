// Kinds of tenants in virtual time, on a card with time slices: bars of the product.
#include <gtest/gtest.h>

#include <cstdio>

#include "world/programs.h"
#include "world/record.h"

namespace divvy::arbiter::world {
namespace {

struct Case {
  const char* name;
  std::vector<unsigned> weights;
  std::vector<Lengths> lengths;
  bool graph = false;
};

TEST(ComputeShare, MixedKernels_ErrorWithinBounds) {
  const Lengths tiny = fixed(50 * kMicrosecond);
  const Lengths middle = fixed(kMillisecond);
  const Lengths big = fixed(20 * kMillisecond);
  const Lengths graph = fixed(200 * kMillisecond);
  const std::vector<Case> cases = {{"30/70, 0.05 ms", {30, 70}, {tiny, tiny}},
                                   {"30/70, 1 ms", {30, 70}, {middle, middle}},
                                   {"30/70, 20 ms", {30, 70}, {big, big}},
                                   {"30/70, 20 and 0.05 ms", {30, 70}, {big, tiny}},
                                   {"50/50, 1 and 20 ms", {50, 50}, {middle, big}},
                                   {"10/20/70, 0.05 ms", {10, 20, 70}, {tiny, tiny, tiny}},
                                   {"10/20/70, 20 ms", {10, 20, 70}, {big, big, big}},
                                   {"10/20/70, mixed", {10, 20, 70}, {big, tiny, middle}},
                                   {"30/70, graph of 200 ms", {30, 70}, {graph, tiny}, true}};
  for (const Case& each : cases) {
    World world(Settings{});
    std::vector<unsigned> tenants;
    for (std::size_t i = 0; i < each.weights.size(); ++i)
      tenants.push_back(world.add({.guarantee = each.weights[i]}, endless(each.lengths[i])));
    world.runUntil(2 * kSecond);
    Record record(&world, tenants);
    record.runFor(30 * kSecond);
    ASSERT_EQ(world.fault(), "");
    double one = 0;
    double ten = 0;
    for (unsigned i = 0; i < tenants.size(); ++i) {
      const double part = each.weights[i] / 100.0;
      one = std::max(one, record.error(i, part, kSecond));
      ten = std::max(ten, record.error(i, part, 10 * kSecond));
    }
    std::printf("%-24s worst error over 1 s %5.2f, over 10 s %5.2f points; in all %.4f\n",
                each.name, one, ten, record.total());
    EXPECT_LE(ten, 2.5) << each.name;
    if (!each.graph) {
      EXPECT_LE(ten, 2) << each.name;
      EXPECT_LE(one, 5) << each.name;
    }
    EXPECT_GE(record.total(), 0.98) << each.name;
  }
}

// Half the time in gaps too short to be idle: those are not device time.
TEST(ComputeShare, GapsBetweenKernels_AreNotCharged) {
  World world(Settings{});
  const unsigned gaps = world.add({}, launchBound(fixed(100 * kMicrosecond), 100 * kMicrosecond));
  const unsigned full = world.add({}, endless(fixed(kMillisecond)));
  world.runUntil(kSecond);
  Record record(&world, {gaps, full});
  record.runFor(20 * kSecond);
  ASSERT_EQ(world.fault(), "");
  // Two turns of gaps for each of the other: equal device time, a third of the wall time is gaps.
  std::printf("half in gaps: share %.3f, in all %.3f\n", record.share(0), record.total());
  EXPECT_NEAR(record.share(0), 0.5, 0.02);
}

// Held while they synchronised, they looked idle until their thread woke up, and lost what they had
// still to get: 34.6 % for a neighbour of 30 %.
TEST(ComputeShare, BriefPauses_ShareIsKept) {
  const auto stepwise = [] {
    return [step = 0](Random& random, Nanos) mutable {
      if (step++ % 7 < 5) return launch(kMillisecond);
      if (step % 7 == 6) return sync();
      return sleepFor(100 * kMicrosecond +
                      static_cast<Nanos>(random() % (300 * std::uint64_t{kMicrosecond})));
    };
  };
  World world(Settings{});
  const unsigned less = world.add({.guarantee = 30}, stepwise());
  const unsigned more = world.add({.guarantee = 70}, stepwise());
  world.runUntil(kSecond);
  Record record(&world, {less, more});
  record.runFor(20 * kSecond);
  ASSERT_EQ(world.fault(), "");
  std::printf("pausing for 0.1 .. 0.4 ms every 5 ms, 30/70: share %.3f, in all %.3f\n",
              record.share(0), record.total());
  EXPECT_NEAR(record.share(0), 0.3, 0.02);
}

// Woken late after each kernel, it lost its turn each time and waited for a whole one of the other:
// 5.6 % instead of 50.
TEST(ComputeShare, LateReturns_TurnIsKept) {
  for (const Nanos gap : {250 * kMicrosecond, 400 * kMicrosecond}) {
    World world(Settings{});
    const unsigned gaps = world.add({}, launchBound(fixed(100 * kMicrosecond), gap));
    const unsigned full = world.add({}, endless(fixed(kMillisecond)));
    world.runUntil(kSecond);
    Record record(&world, {gaps, full});
    record.runFor(20 * kSecond);
    ASSERT_EQ(world.fault(), "");
    std::printf("0.1 ms kernels, gaps of %ld us: share %.3f, in all %.3f\n", gap / kMicrosecond,
                record.share(0), record.total());
    EXPECT_NEAR(record.share(0), 0.5, 0.03);
  }
}

TEST(ComputeShare, FourProcesses_CountAsOneTenant) {
  World world(Settings{});
  std::vector<Program> many;
  for (int i = 0; i < 4; ++i) many.push_back(endless(fixed(kMillisecond)));
  const unsigned four = world.add({}, std::move(many));
  const unsigned one = world.add({}, endless(fixed(kMillisecond)));
  world.runUntil(kSecond);
  Record record(&world, {four, one});
  record.runFor(20 * kSecond);
  ASSERT_EQ(world.fault(), "");
  std::printf("four processes against one: share %.3f, in all %.3f\n", record.share(0),
              record.total());
  EXPECT_NEAR(record.share(0), 0.5, 0.03);
}

TEST(ComputeShare, LyingTenant_ChargedForGrants) {
  World world(Settings{});
  Habits lies;
  lies.lies = true;
  const unsigned liar = world.add({}, endless(fixed(kMillisecond)), lies);
  const unsigned honest = world.add({}, endless(fixed(kMillisecond)));
  world.runUntil(kSecond);
  Record record(&world, {liar, honest});
  record.runFor(20 * kSecond);
  ASSERT_EQ(world.fault(), "");
  std::printf("a liar: share %.3f\n", record.share(0));
  EXPECT_NEAR(record.share(0), 0.5, 0.05);
}

TEST(ComputeShare, UnusedShare_LentAndReturnedAtOnce) {
  World world(Settings{});
  const Nanos half = 2 * kSecond;
  const unsigned busy = world.add({.guarantee = 50}, endless(fixed(kMillisecond)));
  const unsigned cyclic = world.add({.guarantee = 50}, dutyCycled(fixed(kMillisecond), half, half));
  for (int round = 0; round < 5; ++round) {
    const Nanos pause = (2 * round + 1) * half;
    world.runUntil(pause + 50 * kMillisecond);
    Record idle(&world, {busy, cyclic});
    idle.runFor(half - 100 * kMillisecond);
    EXPECT_GE(idle.total(), 0.95);
    world.runUntil(pause + half);
    const Nanos before = world.got(cyclic);
    while (world.got(cyclic) == before) world.runUntil(world.now() + 100 * kMicrosecond);
    EXPECT_LE(world.now() - (pause + half), 20 * kMillisecond);
    world.runUntil(pause + half + 50 * kMillisecond);
    Record back(&world, {busy, cyclic});
    back.runFor(kSecond);
    EXPECT_NEAR(back.share(0), 0.5, 0.02);
  }
  EXPECT_EQ(world.fault(), "");
}

// Comes often and briefly: it is served in its turn, and the other has the rest.
TEST(ComputeShare, FrequentWakeups_CostLittle) {
  World world(Settings{});
  const unsigned brief = world.add({}, launchBound(fixed(200 * kMicrosecond), 5 * kMillisecond));
  const unsigned busy = world.add({}, endless(fixed(200 * kMicrosecond)));
  world.runUntil(kSecond);
  Record record(&world, {brief, busy});
  record.runFor(10 * kSecond);
  ASSERT_EQ(world.fault(), "");
  std::printf("200 us every 5 ms beside a busy one: share %.3f, in all %.3f\n", record.share(0),
              record.total());
  EXPECT_GE(record.total(), 0.93);
  EXPECT_GE(record.share(0), 0.012);
}

}  // namespace
}  // namespace divvy::arbiter::world
