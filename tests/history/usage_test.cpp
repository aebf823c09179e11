#include "history/usage.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store_fixture.h"

namespace divvy::history {
namespace {

RC_GTEST_PROP(SplitByHour, AnyDivision_SameSums, ()) {
  UsageAmounts sum;
  std::int64_t device_ns = 0, throttled = 0;
  auto cuts = *rc::gen::container<std::set<std::int64_t>>(
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(1, 7'200'000)));
  // No interval is longer than an hour.
  cuts.insert({3'600'000, 7'200'000});
  Instant from = kBegin;
  for (const std::int64_t cut : cuts) {
    const Instant to = kBegin + Span(cut);
    const UsageInterval interval{"s",
                                 "d",
                                 1,
                                 from,
                                 to,
                                 1'000,
                                 7,
                                 250,
                                 *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000),
                                 *rc::gen::inRange<std::int64_t>(0, 1'000),
                                 3};
    device_ns += interval.device_ns;
    throttled += interval.throttled_ms;
    for (const UsageRow& row : splitByHour(interval)) {
      RC_ASSERT(row.key.hour >= hourOf(from) && row.key.hour <= hourOf(to));
      RC_ASSERT(row.amounts.seconds <= 3600);
      add(sum, row.amounts);
    }
    from = to;
  }
  RC_ASSERT(sum.seconds == 7200);
  RC_ASSERT(sum.promised_byte_seconds == 7'200'000);
  RC_ASSERT(sum.used_byte_seconds == 50'400);
  RC_ASSERT(sum.promised_compute_milli_seconds == 1'800'000);
  RC_ASSERT(sum.device_ns == device_ns);
  RC_ASSERT(sum.throttled_ms == throttled);
}

TEST(SplitByHour, IntervalOverAnHoursEnd_DividedByTime) {
  const auto rows = splitByHour({.share = "s",
                                 .device = "d",
                                 .price = 3,
                                 .from = kBegin + kHour - 5 * kSecond,
                                 .to = kBegin + kHour + 15 * kSecond,
                                 .promised_bytes = 100,
                                 .device_ns = 1'000});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, (UsageKey{hourOf(kBegin), "s", "d", 3}));
  EXPECT_EQ(rows[0].amounts.promised_byte_seconds, 500);
  EXPECT_EQ(rows[0].amounts.device_ns, 250);
  EXPECT_EQ(rows[1].key.hour, hourOf(kBegin) + 1);
  EXPECT_EQ(rows[1].amounts.seconds, 15);
  EXPECT_EQ(rows[1].amounts.device_ns, 750);
}

TEST(SplitByHour, ImpossibleIntervals_Nothing) {
  EXPECT_TRUE(splitByHour(UsageInterval{.from = kBegin, .to = kBegin}).empty());
  EXPECT_TRUE(splitByHour(UsageInterval{.from = kBegin, .to = kBegin - kSecond}).empty());
  EXPECT_TRUE(splitByHour(UsageInterval{.from = kBegin, .to = kBegin + 2 * kHour}).empty());
  EXPECT_TRUE(
      splitByHour(UsageInterval{.from = kBegin, .to = kBegin + kSecond, .device_ns = -1}).empty());
  EXPECT_TRUE(splitByHour(DeviceInterval{.from = kBegin, .to = kBegin}).empty());
}

TEST(SplitByHour, DeviceForTwoHours_EachHourWhole) {
  std::vector<DeviceHour> rows;
  for (int minute = 0; minute < 120; ++minute)
    for (const DeviceHour& row :
         splitByHour(DeviceInterval{"d", 0, kBegin + minute * kMinute + Span(300),
                                    kBegin + (minute + 1) * kMinute + Span(300), 10}))
      rows.push_back(row);
  std::int64_t first = 0, bytes = 0;
  for (const DeviceHour& row : rows) {
    if (row.key.hour == hourOf(kBegin)) first += row.seconds;
    bytes += row.byte_seconds;
  }
  EXPECT_EQ(first, 3599);  // the hour's first second began before the device was there
  EXPECT_EQ(bytes, 72'000);
}

TEST(HourOf, TimesBefore1970_RoundedDown) {
  EXPECT_EQ(hourOf(Instant(Span(-1))), -1);
  EXPECT_EQ(hourOf(Instant(Span(0))), 0);
  EXPECT_EQ(hourOf(Instant(kHour)), 1);
}

}  // namespace
}  // namespace divvy::history
