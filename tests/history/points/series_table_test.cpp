// Tiers against a model that keeps every sample.
#include "points/series_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "points/chunk_codec.h"
#include "store_fixture.h"

namespace divvy::history {
namespace {

using Points = std::map<Instant, Point>;

// The points of the next coarser tier, computed from all points at once.
Points coarser(const Points& points, Span step) {
  std::map<Instant, Bucket> buckets;
  for (const auto& [time, point] : points) buckets[floorTo(time, step)].merge(point);
  Points result;
  for (const auto& [time, bucket] : buckets) result[time] = bucket.point();
  return result;
}

Points slotsOf(const std::map<Instant, std::int64_t>& samples) {
  std::map<Instant, Bucket> buckets;
  for (const auto& [time, value] : samples)
    buckets[floorTo(time, 5 * kSecond)].merge({value, value, 1});
  Points result;
  for (const auto& [time, bucket] : buckets) {
    result[time] = bucket.point();
    result[time].weight = 1;
  }
  return result;
}

Points pointsOf(const SeriesTable& table, Tier tier, const Batch& written) {
  Points points;
  const Span span = stepOf(tier) * static_cast<int>(kChunkPoints);
  for (const ChunkRow& row : written.chunks) {
    if (row.tier != tier) continue;
    const auto chunk = decodeChunk(row.bytes).value();
    EXPECT_EQ(floorTo(row.start, span), row.start);
    OpenChunk{row.start, chunk, false}.read(
        stepOf(tier), Instant::min(), Instant::max(),
        [&](Instant time, const Point& point) { points[time] = point; });
  }
  table.read(1, tier, Instant::min(), Instant::max(),
             [&](Instant time, const Point& point) { points[time] = point; });
  return points;
}

RC_GTEST_PROP(SeriesTable, RandomSamples_TiersEqualTheModel, ()) {
  SeriesTable table(kBegin, 10);
  table.insert(1, keyOf("a"), SeriesType::kGauge);
  Batch batch;
  std::map<Instant, std::int64_t> samples;
  Instant now = kBegin;
  for (int left = *rc::gen::inRange(1, 400); left > 0; --left) {
    const bool is_gap = *rc::gen::inRange(0, 20) == 0;
    now += Span(is_gap ? *rc::gen::inRange(1, 7'200'000) : *rc::gen::inRange(1, 60'000));
    table.advance(now, batch);
    const Instant time = now - Span(*rc::gen::inRange(0, 5'000));
    const auto value = *rc::gen::inRange<std::int64_t>(-1'000, 1'000'000);
    const auto late = table.counts().late;
    table.add(now, time, 1, value);
    if (table.counts().late == late) samples[time] = value;
  }
  // The point of now is complete, too, when its time has passed.
  now = floorTo(now, Rollup::kBlock) + Rollup::kBlock + kMinute;
  table.advance(now, batch);
  const Points minutes = coarser(slotsOf(samples), kMinute);
  const Points fives = coarser(minutes, 5 * kMinute);
  RC_ASSERT(pointsOf(table, Tier::kFiveMinutes, batch) == fives);
  RC_ASSERT(pointsOf(table, Tier::kHour, batch) == coarser(fives, kHour));
  Points written;
  for (const auto& [time, bytes] : batch.minutes) written[time] = decodeMinute(bytes).value().at(1);
  RC_ASSERT(written == minutes);
}

TEST(SeriesTable, OldAndFutureSamples_DroppedAndCounted) {
  SeriesTable table(kBegin, 10);
  Batch batch;
  table.insert(1, keyOf("a"), SeriesType::kGauge);
  table.add(kBegin, kBegin, 1, 5);
  table.add(kBegin, kBegin, 1, 6);
  table.add(kBegin, kBegin - kSecond, 1, 6);
  table.add(kBegin, kBegin + 6 * kSecond, 1, 6);
  table.add(kBegin, kBegin + kSecond, 2, 6);
  EXPECT_EQ(table.counts().late, 2);
  EXPECT_EQ(table.counts().future, 1);
  EXPECT_EQ(table.counts().unknown, 1);
  table.advance(kBegin + 3 * kMinute, batch);
  table.add(kBegin + 3 * kMinute, kBegin + kMinute, 1, 6);
  EXPECT_EQ(table.counts().late, 3);
}

// Samples of one round of polling arrive after the minute's end.
TEST(SeriesTable, SampleWithinGrace_CountsInItsMinute) {
  SeriesTable table(kBegin, 10);
  Batch batch;
  table.insert(1, keyOf("a"), SeriesType::kGauge);
  const Instant end = kBegin + kMinute;
  table.advance(end + 3 * kSecond, batch);
  table.add(end + 3 * kSecond, end + 2 * kSecond, 1, 100);
  table.insert(2, keyOf("b"), SeriesType::kGauge);
  table.add(end + 3 * kSecond, end - kSecond, 2, 7);
  EXPECT_TRUE(batch.minutes.empty());
  table.advance(end + 10 * kSecond, batch);
  ASSERT_EQ(batch.minutes.size(), 1u);
  const auto points = decodeMinute(batch.minutes.at(kBegin)).value();
  EXPECT_EQ(points.at(2).mean, 7);
  EXPECT_FALSE(points.contains(1));
}

TEST(SeriesTable, ClockGoesBackHours_WritesAndBeginsAnew) {
  SeriesTable table(kBegin + kDay, 10);
  Batch batch;
  table.insert(1, keyOf("a"), SeriesType::kGauge);
  const Instant late = kBegin + kDay + 10 * kSecond;
  table.add(late, late, 1, 5);
  table.advance(kBegin, batch);
  EXPECT_EQ(table.counts().clock_jumps, 1);
  EXPECT_EQ(batch.chunks.size(), 2u);
  table.add(kBegin, kBegin, 1, 6);
  EXPECT_EQ(table.counts().late, 0);
  table.advance(kBegin + 2 * kMinute, batch);
  EXPECT_TRUE(batch.minutes.contains(kBegin));
  EXPECT_EQ(table.steadyFrom(), kBegin);
}

TEST(SeriesTable, ClockGoesAheadYears_ClosesOnceAndGoesOn) {
  SeriesTable table(kBegin, 10);
  Batch batch;
  table.insert(1, keyOf("a"), SeriesType::kGauge);
  table.add(kBegin, kBegin, 1, 5);
  const Instant later = kBegin + 40 * 365 * kDay;
  table.advance(later, batch);
  EXPECT_EQ(table.counts().clock_jumps, 1);
  EXPECT_EQ(table.steadyFrom(), later);
  EXPECT_EQ(batch.minutes.size(), 1u);
  EXPECT_EQ(batch.chunks.size(), 2u);
  table.insert(2, keyOf("b"), SeriesType::kGauge);
  table.add(later, later, 2, 6);
  EXPECT_EQ(table.counts().late, 0);
}

TEST(SeriesTable, SeriesWithoutValuesForADay_Forgotten) {
  SeriesTable table(kBegin, 1);
  Batch batch;
  EXPECT_TRUE(table.insert(1, keyOf("a"), SeriesType::kGauge));
  EXPECT_FALSE(table.insert(2, keyOf("b"), SeriesType::kGauge));
  table.add(kBegin, kBegin, 1, 5);
  for (int hour = 1; hour <= 26; ++hour) {
    table.advance(kBegin + hour * kHour + SeriesTable::kGrace, batch);
  }
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(table.insert(2, keyOf("b"), SeriesType::kGauge));
}

TEST(SeriesTable, CounterOfARestartedProcess_NeverNegative) {
  SeriesTable table(kBegin, 10);
  Batch batch;
  table.insert(1, keyOf("a"), SeriesType::kCounter);
  Instant now = kBegin;
  for (const std::int64_t reading : {1'000, 2'000, 3'000, 10, 1'010, 2'010}) {
    table.advance(now, batch);
    table.add(now, now, 1, reading);
    now += 10 * kSecond;
  }
  Points points;
  table.read(1, Tier::kFiveSeconds, Instant::min(), Instant::max(),
             [&](Instant time, const Point& point) { points[time] = point; });
  EXPECT_EQ(points.size(), 4u);
  for (const auto& [time, point] : points) EXPECT_EQ(point.mean, 100'000);
}

}  // namespace
}  // namespace divvy::history
