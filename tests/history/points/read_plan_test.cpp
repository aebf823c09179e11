#include "points/read_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store_fixture.h"

namespace divvy::history {
namespace {

const Instant kNow = kBegin + 100 * kDay;

ReadPlan plan(Span back, Span length, std::size_t max_points) {
  return planRead({kNow - back, kNow - back + length, max_points}, kNow, kBegin);
}

TEST(PlanRead, CommonRanges_ExpectedTiers) {
  EXPECT_EQ(plan(10 * kMinute, 10 * kMinute, 200).tier, Tier::kFiveSeconds);
  EXPECT_EQ(plan(10 * kMinute, 10 * kMinute, 20).tier, Tier::kFiveSeconds);
  EXPECT_EQ(plan(10 * kMinute, 10 * kMinute, 10).tier, Tier::kMinute);
  EXPECT_EQ(plan(6 * kHour, 6 * kHour, 400).tier, Tier::kMinute);
  EXPECT_EQ(plan(kDay, kDay, 400).tier, Tier::kFiveMinutes);
  EXPECT_EQ(plan(7 * kDay, 7 * kDay, 500).factor, 5);
  EXPECT_EQ(plan(30 * kDay, 30 * kDay, 1'000).tier, Tier::kHour);
  // An old range has only hour points, however many are wanted.
  EXPECT_EQ(plan(60 * kDay, kHour, 500).tier, Tier::kHour);
  EXPECT_EQ(plan(2 * kHour, 5 * kMinute, 500).tier, Tier::kMinute);
}

TEST(PlanRead, AfterARestart_FivePointsSecondsNotUsedBefore) {
  const ReadRange range{kNow - 10 * kMinute, kNow, 500};
  EXPECT_EQ(planRead(range, kNow, kNow - kMinute).tier, Tier::kMinute);
}

RC_GTEST_PROP(PlanRead, RandomRanges_WithinMaxPointsAndCovered, ()) {
  const auto max_points = *rc::gen::inRange<std::size_t>(2, 2'000);
  const auto back = *rc::gen::inRange<std::int64_t>(1, 399 * kDay.count());
  const auto length = *rc::gen::inRange<std::int64_t>(1, back + 1);
  const ReadRange range{kNow - Span(back), kNow - Span(back) + Span(length), max_points};
  const ReadPlan found = planRead(range, kNow, kBegin);
  RC_ASSERT(found.count >= 1);
  RC_ASSERT(found.count <= max_points);
  RC_ASSERT(found.start <= range.from);
  RC_ASSERT(found.end() >= range.to);
  RC_ASSERT(range.from >= kNow - retentionOf(found.tier));
}

TEST(PlanRead, RangeOutsideOfHistory_NoPoints) {
  EXPECT_EQ(planRead({kNow - 900 * kDay, kNow - 800 * kDay, 10}, kNow, kBegin).count, 0u);
  EXPECT_EQ(planRead({kNow + 2 * kDay, kNow + 3 * kDay, 10}, kNow, kBegin).count, 0u);
  EXPECT_LE(planRead({Instant::min(), Instant::max(), 10}, kNow, kBegin).count, 10u);
}

TEST(PlannedColumn, GroupWithGaps_WeightedMeanAndMax) {
  const ReadPlan two{Tier::kFiveMinutes, kBegin, 2, 3};
  PlannedColumn column(two);
  column.put(kBegin, {10, 20, 60});
  column.put(kBegin + 5 * kMinute, {40, 50, 30});
  column.put(kBegin - 5 * kMinute, {1'000, 1'000, 60});
  column.put(kBegin + 30 * kMinute, {1'000, 1'000, 60});
  const SeriesColumn found = column.column(true);
  EXPECT_EQ(found.mean, (Values{20, std::nullopt}));
  EXPECT_EQ(found.max, (Values{50, std::nullopt}));
}

}  // namespace
}  // namespace divvy::history
