// Shares in virtual time: the bounds that src/arbiter/policy/README.md proves, on random tenants.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "world/programs.h"
#include "world/record.h"

namespace divvy::arbiter::world {
namespace {

struct Kind {
  const char* name;
  Lengths lengths;
  Nanos longest;
};

std::vector<Kind> kinds() {
  return {{"0.05 ms", fixed(50 * kMicrosecond), 50 * kMicrosecond},
          {"1 ms", fixed(kMillisecond), kMillisecond},
          {"20 ms", fixed(20 * kMillisecond), 20 * kMillisecond},
          {"lognormal 0.1 ms", lognormal(100 * kMicrosecond, 1), 20 * kMillisecond},
          {"lognormal 2 ms", lognormal(2 * kMillisecond, 1.2), 20 * kMillisecond}};
}

// From the law's decision until it binds: a bell, a word, a settlement.
constexpr Nanos kReaction = 400 * kMicrosecond;

// What a turn may exceed its end in virtual time by; README.md.
Nanos turnOf(const Constants& constants, std::size_t tenants, Nanos longest) {
  const auto quanta = std::clamp<Nanos>(static_cast<Nanos>(tenants - 1) / 2, 1, 4);
  return quanta * constants.quantum + constants.inflight + longest + kReaction;
}

std::vector<Nanos> bounds(const std::vector<double>& parts, const std::vector<Nanos>& turns) {
  const Nanos all = std::accumulate(turns.begin(), turns.end(), Nanos{0});
  std::vector<Nanos> bounds;
  for (std::size_t i = 0; i < parts.size(); ++i)
    bounds.push_back(static_cast<Nanos>((1 - parts[i]) * static_cast<double>(turns[i]) +
                                        parts[i] * static_cast<double>(all - turns[i])));
  return bounds;
}

RC_GTEST_PROP(ComputeShare, RandomTenants_LagWithinProvedBound, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(2, 9);
  const auto weights = *rc::gen::container<std::vector<unsigned>>(
      count, rc::gen::inRange(2u, 100u / static_cast<unsigned>(count)));
  const auto picks = *rc::gen::container<std::vector<unsigned>>(count, rc::gen::inRange(0u, 5u));
  Settings settings;
  settings.seed = *rc::gen::arbitrary<std::uint64_t>();
  // Events then show what was executed; see the next test for cards whose slices end within the
  // few microseconds in which two tenants overlap.
  settings.slice = kSecond;
  World world(settings);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> parts;
  std::vector<Nanos> turns;
  std::vector<unsigned> tenants;
  for (std::size_t i = 0; i < count; ++i) {
    const Kind kind = kinds()[picks[i]];
    tenants.push_back(world.add({.guarantee = weights[i]}, endless(kind.lengths)));
    parts.push_back(weights[i] / sum);
    turns.push_back(turnOf(settings.constants, count, kind.longest));
  }
  world.runUntil(500 * kMillisecond);
  Record record(&world, tenants, 2 * kMillisecond);
  record.runFor(8 * kSecond);
  RC_ASSERT(world.fault() == "");
  // Where every hand-over of 10 ms switches contexts, that is what is lost.
  RC_ASSERT(record.total() >= 0.96);
  const auto bound = bounds(parts, turns);
  for (unsigned i = 0; i < count; ++i) {
    RC_LOG() << "tenant " << i << " weight " << weights[i] << " kernels " << kinds()[picks[i]].name
             << " lag " << record.lag(i, parts[i]) << " of " << bound[i] << "\n";
    RC_ASSERT(record.lag(i, parts[i]) <= bound[i]);
    for (const Nanos window : {kSecond, 4 * kSecond}) {
      const double error = record.error(i, parts[i], window);
      const double device_time = record.total() * static_cast<double>(window);
      RC_ASSERT(error <= 2 * 100.0 * static_cast<double>(bound[i]) / device_time);
    }
  }
}

// Of a card that ten share, the worst wait of requests that come now and then; and what hand-overs
// leave of the card.
TEST(ComputeShare, ReturningTenant_WaitsTwoTurnsAtMost) {
  Settings settings;
  World world(settings);
  std::vector<unsigned> tenants;
  for (int i = 0; i < 9; ++i) tenants.push_back(world.add({}, endless(fixed(kMillisecond))));
  auto latencies = std::make_shared<std::vector<Nanos>>();
  const Service service{.per_second = 8, .requests = 400, .launches = 2, .seed = 3};
  tenants.push_back(world.add({}, serving(service, latencies)));
  Record record(&world, tenants);
  record.runFor(60 * kSecond);
  ASSERT_EQ(world.fault(), "");
  ASSERT_GE(latencies->size(), 390u);
  // Another one may come just before it.
  const Nanos turn = turnOf(settings.constants, 2, kMillisecond);
  // The first ones find everybody at the beginning of its time.
  constexpr std::ptrdiff_t kFirst = 10;
  const Nanos worst = *std::max_element(latencies->begin() + kFirst, latencies->end());
  std::printf("worst request %.1f ms, the card is used %.4f of the time\n",
              static_cast<double>(worst) / 1e6, record.total());
  EXPECT_LE(worst, 2 * turn + service.time);
  EXPECT_GE(record.total(), 0.98);
}

// Groups merge and fall apart as tenants of several devices come and go. Each of these instants is
// in the middle of somebody's turn.
TEST(ComputeShare, PolicyReplaced_DebtsAreCarried) {
  const auto errorOf = [](bool carry) {
    Settings settings;
    settings.cards = 2;
    World world(settings);
    const Lengths lengths = fixed(kMillisecond);
    const std::vector<unsigned> tenants = {world.add({.guarantee = 30}, endless(lengths)),
                                           world.add({.guarantee = 70}, endless(lengths))};
    world.add({.guarantee = 50, .devices = 0b10}, endless(lengths, 1));
    Record record(&world, tenants, kMillisecond);
    for (int i = 0; i < 300; ++i) {
      record.runFor(17 * kMillisecond);
      world.replaceLaw(carry);
    }
    EXPECT_EQ(world.fault(), "");
    EXPECT_GE(record.total(), 0.96);
    return record.error(0, 0.3, 4 * kSecond);
  };
  const double carried = errorOf(true);
  const double forgotten = errorOf(false);
  std::printf("a new law every 17 ms: off by %.2f points, %.2f if debts were forgotten\n", carried,
              forgotten);
  EXPECT_LE(carried, 1);
  EXPECT_GT(forgotten, 5) << "this workload shows nothing";
}

}  // namespace
}  // namespace divvy::arbiter::world
