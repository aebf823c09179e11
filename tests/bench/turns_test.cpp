#include "turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace divvy::bench {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr CardTime kS = 1'000'000'000;

// Seconds.
Span span(double start, double end) {
  return {static_cast<CardTime>(start * kS), static_cast<CardTime>(end * kS)};
}

TEST(TurnsOf, TwoTenants_TurnsAlternate) {
  const std::vector<Spans> tenants = {{span(0, 1), span(1.5, 2), span(6, 8)},
                                      {span(2.5, 3), span(3, 4.5), span(8.5, 9)}};
  const std::vector<Turn> turns = turnsOf(tenants, kS / 5);
  ASSERT_EQ(turns.size(), 4U);
  EXPECT_EQ(turns[0].tenant, 0U);
  EXPECT_EQ(turns[0].span.end, 2 * kS) << "its own pause is part of it";
  EXPECT_EQ(turns[1].tenant, 1U);
  EXPECT_THAT(switchesTo(turns, 2), ElementsAre(1, 2));
  EXPECT_THAT(medianTurn(turns), DoubleEq(2)) << "the last ones are cut short";
}

TEST(TurnsOf, BriefMoment_DoesNotInterrupt) {
  const std::vector<Spans> tenants = {{span(0, 1), span(1.2, 3)}, {span(1, 1.1), span(4, 5)}};
  const std::vector<Turn> turns = turnsOf(tenants, kS / 5);
  ASSERT_EQ(turns.size(), 2U);
  EXPECT_EQ(turns[0].span.end, 3 * kS);
  EXPECT_THAT(switchesTo(turns, 2), ElementsAre(0, 1));
}

TEST(TurnsOf, NoTenantRuns_NoTurns) {
  EXPECT_TRUE(turnsOf({{}, {}}, kS).empty());
  EXPECT_THAT(switchesTo({}, 2), ElementsAre(0, 0));
  EXPECT_TRUE(std::isnan(medianTurn({})));
}

TEST(LongestPause, Range_EdgesCount) {
  const Spans spans = {span(1, 2), span(5, 6)};
  EXPECT_DOUBLE_EQ(longestPause(spans, span(0, 7)), 3);
  EXPECT_DOUBLE_EQ(longestPause(spans, span(1, 10)), 4) << "at its end";
  EXPECT_DOUBLE_EQ(longestPause(spans, span(1.5, 2.5)), 0.5);
  EXPECT_DOUBLE_EQ(longestPause({}, span(1, 4)), 3);
}

}  // namespace
}  // namespace divvy::bench
