#include "judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "arrivals.h"
#include "stalls.h"

namespace divvy::bench {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr CardTime kMs = 1'000'000;
constexpr CardTime kS = 1'000 * kMs;

// Turns of `a` and `b` milliseconds from `from` to `to`, with `hole` between them.
std::vector<Spans> turns(CardTime from, CardTime to, CardTime a, CardTime b, CardTime hole = 0) {
  std::vector<Spans> two(2);
  for (CardTime at = from; at < to;) {
    two[0].push_back({at, at + a * kMs});
    at += a * kMs + hole;
    two[1].push_back({at, at + b * kMs});
    at += b * kMs + hole;
  }
  return two;
}

TEST(Spans, Overlapping_AreUnited) {
  const Spans spans = united({{30, 40}, {0, 10}, {5, 20}, {20, 25}});
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].start, 0U);
  EXPECT_EQ(spans[0].end, 25U);
  EXPECT_EQ(spans[1].start, 30U);
}

TEST(Spans, BusySeconds_OnlyWithinRange) {
  const Spans spans = {{0, kS}, {2 * kS, 3 * kS}, {5 * kS, 6 * kS}};
  EXPECT_DOUBLE_EQ(busySeconds(spans, {kS / 2, 5 * kS + kS / 4}), 0.5 + 1 + 0.25);
  EXPECT_DOUBLE_EQ(busySeconds(spans, {kS, 2 * kS}), 0);
  EXPECT_DOUBLE_EQ(busySeconds({}, {0, kS}), 0);
}

TEST(WindowsOf, Range_ConsecutiveFullWindows) {
  const auto windows = windowsOf({kS, 4 * kS + 1}, kS);
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[2].end, 4 * kS);
  EXPECT_TRUE(windowsOf({0, kS - 1}, kS).empty());
}

TEST(ShareError, RightSplit_IsZero) {
  const auto tenants = turns(0, 10 * kS, 3, 7);
  EXPECT_NEAR(worstShareError(tenants, {30, 70}, {0, 10 * kS}, kS).pp, 0, 1e-9);
}

TEST(ShareError, WrongSplit_IsFound) {
  const auto tenants = turns(0, 10 * kS, 5, 5);  // what time slicing makes of 30 to 70
  const ShareError error = worstShareError(tenants, {30, 70}, {0, 10 * kS}, kS);
  EXPECT_NEAR(error.pp, 20, 1e-6);
}

TEST(ShareError, WrongWindows_NotAveragedAway) {
  // Right over two seconds, wrong in each of them.
  const std::vector<Spans> tenants = {{{0, kS}}, {{kS, 2 * kS}}};
  EXPECT_NEAR(worstShareError(tenants, {50, 50}, {0, 2 * kS}, 2 * kS).pp, 0, 1e-9);
  EXPECT_NEAR(worstShareError(tenants, {50, 50}, {0, 2 * kS}, kS).pp, 50, 1e-9);
}

TEST(ShareError, SeveralTenants_WorstIsNamed) {
  std::vector<Spans> tenants = {{{0, kS / 4}, {kS, kS + kS / 2}},
                                {{kS / 4, kS / 2}, {kS + kS / 2, kS + 3 * kS / 4}},
                                {{kS / 2, kS}, {kS + 3 * kS / 4, 2 * kS}}};
  const ShareError error = worstShareError(tenants, {25, 25, 50}, {0, 2 * kS}, kS);
  EXPECT_NEAR(error.pp, 25, 1e-9);
  EXPECT_EQ(error.window, 1U);
  EXPECT_NE(error.tenant, 1U);
}

TEST(ShareError, Weights_RelativeToTheirSum) {
  const auto tenants = turns(0, 10 * kS, 4, 6);
  EXPECT_NEAR(worstShareError(tenants, {60, 90}, {0, 10 * kS}, kS).pp, 0, 1e-9);
}

TEST(ShareError, HolesForAll_AreIgnored) {
  // Half of the time is lost, which totalVsSolo() is there to tell.
  const auto tenants = turns(0, 10 * kS, 3, 7, 5 * kMs);
  EXPECT_NEAR(worstShareError(tenants, {30, 70}, {0, 10 * kS}, kS).pp, 0, 1e-6);
  EXPECT_NEAR(totalVsSolo(tenants, {1, 1}, {0, 10 * kS}), 0.5, 1e-6);
}

TEST(ShareError, NoTenantRuns_Is100) {
  EXPECT_EQ(worstShareError({{}, {}}, {30, 70}, {0, kS}, kS).pp, 100);
  EXPECT_TRUE(std::isnan(worstShareError({{}, {}}, {30, 70}, {0, kS / 2}, kS).pp));
}

TEST(TotalVsSolo, NothingLost_IsOne) {
  EXPECT_NEAR(totalVsSolo(turns(0, 10 * kS, 3, 7), {1, 1}, {0, 10 * kS}), 1, 1e-9);
}

TEST(TotalVsSolo, GappyTenant_JudgedByItsSolo) {
  // Two thirds of the time are the first one's, which keeps the card busy for half of them.
  std::vector<Spans> tenants(2);
  for (CardTime at = 0; at < 10 * kS; at += 30 * kMs) {
    for (CardTime i = 0; i < 10; ++i) {
      tenants[0].push_back({at + 2 * i * kMs, at + (2 * i + 1) * kMs});
    }
    tenants[1].push_back({at + 20 * kMs, at + 30 * kMs});
  }
  EXPECT_NEAR(totalVsSolo(tenants, {0.5, 1}, {0, 9 * kS}), 1, 1e-9);
  EXPECT_NEAR(worstShareError(tenants, {50, 50}, {0, 9 * kS}, kS).pp, 0, 1);
  EXPECT_TRUE(std::isnan(totalVsSolo(tenants, {0, 1}, {0, kS})));
}

TEST(CapError, WallTime_IsTheBase) {
  const auto tenants = turns(0, 10 * kS, 2, 8);
  EXPECT_NEAR(capError(tenants[0], 20, {0, 10 * kS}).mean_pp, 0, 1e-9);
  EXPECT_NEAR(capError(tenants[0], 50, {0, 10 * kS}).mean_pp, 30, 1e-9);
  EXPECT_NEAR(capError(tenants[0], 15, {0, 10 * kS}).over_pp, 5, 1e-9);
  EXPECT_TRUE(std::isnan(capError(tenants[0], 20, {0, kS}).mean_pp));
}

TEST(CapError, OneSecondAboveCap_IsSeen) {
  // 20 % over ten seconds, all of them in the first two.
  const CapError error = capError({{0, 2 * kS}}, 20, {0, 10 * kS});
  EXPECT_NEAR(error.mean_pp, 0, 1e-9);
  EXPECT_NEAR(error.over_pp, 80, 1e-9);
}

TEST(IdleReclaimed, Pauses_OnlyTheyCount) {
  const Spans spans = {{0, 1 * kS}, {2 * kS, 4 * kS}};
  EXPECT_NEAR(idleReclaimed(spans, {{2 * kS, 4 * kS}}, 0, 1), 1, 1e-9);
  EXPECT_NEAR(idleReclaimed(spans, {{kS, 3 * kS}}, 0, 1), 0.5, 1e-9);
  EXPECT_NEAR(idleReclaimed(spans, {{kS, 3 * kS}}, kS, 1), 1, 1e-9);
  EXPECT_TRUE(std::isnan(idleReclaimed(spans, {}, 0, 1)));
}

TEST(ReturnDelays, Shares_DelayUntilReached) {
  const CardTime at = 100 * kMs;
  const Spans waited = {{at + 10 * kMs, at + 40 * kMs}};
  EXPECT_THAT(returnDelays(waited, {at}, 0.5, kS), ElementsAre(DoubleNear(20, 1e-6)));
  const Spans at_once = {{50 * kMs, 200 * kMs}};
  EXPECT_THAT(returnDelays(at_once, {at}, 0.5, kS), ElementsAre(0));
  const Spans crumbs = {{at + 10 * kMs, at + 15 * kMs}, {at + 20 * kMs, at + 60 * kMs}};
  EXPECT_THAT(returnDelays(crumbs, {at}, 0.5, kS), ElementsAre(DoubleNear(30, 1e-6)));
  EXPECT_TRUE(std::isinf(returnDelays({}, {at}, 0.5, kS).front()));
  EXPECT_THAT(startDelays(crumbs, {at, at + 17 * kMs}, kS),
              ElementsAre(DoubleNear(10, 1e-6), DoubleNear(3, 1e-6)));
}

TEST(ShareOfGaps, FirstsGaps_AreTheBase) {
  const auto tenants = turns(0, 10 * kS, 2, 6, kMs);
  EXPECT_NEAR(shareOfGaps(tenants[0], tenants[1], {0, 10 * kS}), 0.75, 1e-9);
  EXPECT_TRUE(std::isnan(shareOfGaps({{0, kS}}, {}, {0, kS})));
}

TEST(PauseTimes, OtherRunsAgain_LastEndCounts) {
  const Request request{10 * kMs, 16 * kMs};
  const Spans service = {{11 * kMs, 12 * kMs}, {13 * kMs, 15 * kMs}, {30 * kMs, 32 * kMs}};
  EXPECT_THAT(pauseTimes({request}, service, {{0, 11 * kMs}, {20 * kMs, 30 * kMs}}),
              ElementsAre(DoubleNear(1, 1e-9)));
  EXPECT_THAT(pauseTimes({request}, service, {{12 * kMs, 13 * kMs}}),
              ElementsAre(DoubleNear(3, 1e-9)))
      << "ran again between two of the request's kernels";
  EXPECT_THAT(pauseTimes({request}, service, {{0, 9 * kMs}, {15 * kMs, 30 * kMs}}), ElementsAre(0))
      << "what begins after the request's work is no delay of it";
}

TEST(Stalls, Processors_CommonPartCounts) {
  const Span both = commonOf({{10, 50}, {20, 60}});
  EXPECT_EQ(both.start, 20U);
  EXPECT_EQ(both.end, 50U);
  const Span one = commonOf({{10, 20}, {20, 60}});
  EXPECT_GE(one.start, one.end);
  const Span other_never = commonOf({{10, 20}, {}});
  EXPECT_GE(other_never.start, other_never.end);
}

TEST(Stalls, Times_StallsAreCutOut) {
  const Spans stalls = {{100, 150}, {200, 210}};
  EXPECT_EQ(withoutStalls(90, stalls), 90U);
  EXPECT_EQ(withoutStalls(120, stalls), 100U);
  EXPECT_EQ(withoutStalls(150, stalls), 100U);
  EXPECT_EQ(withoutStalls(160, stalls), 110U);
  EXPECT_EQ(withoutStalls(300, stalls), 240U);
  const Spans spans = withoutStalls({{0, 90}, {95, 110}, {120, 140}, {145, 400}}, stalls);
  ASSERT_EQ(spans.size(), 3U) << "one lies within a stall";
  EXPECT_EQ(spans[1].start, 95U);
  EXPECT_EQ(spans[1].end, 100U);
  EXPECT_EQ(spans[2].start, 100U);
  EXPECT_EQ(spans[2].end, 340U);
}

TEST(PoissonArrivals, Seed_SameArrivalsAtRate) {
  const auto arrivals = poissonArrivals(1, 100, 20'000);
  ASSERT_EQ(arrivals.size(), 20'000U);
  EXPECT_EQ(arrivals, poissonArrivals(1, 100, 20'000));
  EXPECT_NE(arrivals, poissonArrivals(2, 100, 20'000));
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  EXPECT_NEAR(static_cast<double>(arrivals.back()) / 1e9, 200, 5);
  // Memoryless: a part e^-1 of the gaps is longer than their mean.
  std::size_t longer = 0;
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    longer += arrivals[i] - arrivals[i - 1] > 10 * kMs;
  }
  EXPECT_NEAR(static_cast<double>(longer) / 20'000, std::exp(-1), 0.01);
}

}  // namespace
}  // namespace divvy::bench
