#include "history/counter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store_fixture.h"

namespace divvy::history {
namespace {

TEST(CounterReadings, Restart_BeginsAnew) {
  CounterReadings readings;
  EXPECT_FALSE(readings.next(kBegin, 100));
  const auto first = readings.next(kBegin + 5 * kSecond, 150);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->amount, 50);
  EXPECT_EQ(milliPerSecond(*first), 10'000);
  EXPECT_FALSE(readings.next(kBegin + 10 * kSecond, 20));
  const auto second = readings.next(kBegin + 15 * kSecond, 21);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->amount, 1);
}

TEST(CounterReadings, LongGap_BeginsAnew) {
  CounterReadings readings;
  EXPECT_FALSE(readings.next(kBegin, 0));
  EXPECT_FALSE(readings.next(kBegin + 61 * kSecond, 1'000));
  EXPECT_TRUE(readings.next(kBegin + 62 * kSecond, 1'000));
}

TEST(CounterReadings, ClockGoesBack_ReadingIgnored) {
  CounterReadings readings;
  EXPECT_FALSE(readings.next(kBegin, 10));
  EXPECT_FALSE(readings.next(kBegin - kSecond, 500));
  const auto increase = readings.next(kBegin + kSecond, 11);
  ASSERT_TRUE(increase);
  EXPECT_EQ(increase->amount, 1);
}

RC_GTEST_PROP(CounterReadings, RandomReadings_NeverNegative, ()) {
  CounterReadings readings;
  Instant time = kBegin;
  for (int left = 100; left > 0; --left) {
    time += Span(*rc::gen::inRange(-1'000, 70'000));
    const auto increase = readings.next(time, *rc::gen::arbitrary<std::int64_t>());
    if (!increase) continue;
    RC_ASSERT(increase->amount >= 0);
    RC_ASSERT(increase->elapsed > Span(0));
    RC_ASSERT(milliPerSecond(*increase) >= 0);
  }
}

}  // namespace
}  // namespace divvy::history
