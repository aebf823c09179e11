#include "meter/interval_union.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace divvy::interposer {
namespace {

TEST(IntervalUnion, OneStream_SumOfIntervals) {
  IntervalUnion busy;
  EXPECT_EQ(busy.add(100, 200, 100), 100u);
  EXPECT_EQ(busy.add(200, 250, 50), 50u);
  EXPECT_EQ(busy.add(300, 400, 100), 100u);
}

TEST(IntervalUnion, OverlappingStreams_TimeCountedOnce) {
  IntervalUnion busy;
  EXPECT_EQ(busy.add(100, 200, 100), 100u);
  EXPECT_EQ(busy.add(100, 200, 100), 0u);
  EXPECT_EQ(busy.add(150, 250, 100), 50u);
  EXPECT_EQ(busy.add(50, 300, 250), 100u);
  EXPECT_EQ(busy.add(120, 130, 10), 0u);
}

TEST(IntervalUnion, OlderInterval_FillsGapsOnly) {
  IntervalUnion busy;
  busy.add(100, 200, 100);
  busy.add(300, 400, 100);
  EXPECT_EQ(busy.add(150, 350, 200), 100u);
  EXPECT_EQ(busy.add(50, 100, 50), 50u);
  EXPECT_EQ(busy.add(50, 400, 350), 0u);
}

// Four streams that are each busy a quarter of the time, one after the other: the card was busy all
// of it.
TEST(IntervalUnion, PartlyBusyIntervals_FillFreeTime) {
  IntervalUnion busy;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(busy.add(1000, 2000, 250), 250u) << i;
  EXPECT_EQ(busy.add(1000, 2000, 250), 0u);
}

TEST(IntervalUnion, AmountAboveInterval_CutToInterval) {
  IntervalUnion busy;
  EXPECT_EQ(busy.add(1000, 1100, 500), 100u);
  EXPECT_EQ(busy.add(1000, 1100, 0), 0u);
  EXPECT_EQ(busy.add(2000, 1500, 100), 0u);
}

TEST(IntervalUnion, ForgottenIntervals_NotCountedAgain) {
  IntervalUnion busy;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) total += busy.add(100 * i, 100 * i + 10, 10);
  EXPECT_EQ(total, 10'000u);
  EXPECT_EQ(busy.add(0, 5'000, 5'000), 0u);
}

// Against a plain map of nanoseconds.
TEST(IntervalUnion, RandomIntervals_AgreesWithModel) {
  std::mt19937 random(7);
  IntervalUnion busy;
  std::vector<bool> counted(4'000);
  for (std::uint64_t round = 0; round < 2'000; ++round) {
    const std::uint64_t start = round + random() % 1'000;
    const std::uint64_t end = start + random() % 300;
    const std::uint64_t amount = random() % 2 != 0 ? end - start : random() % 200;
    std::uint64_t expected = 0;
    for (std::uint64_t at = end; at-- > start && expected < amount;) {
      if (counted[at]) continue;
      counted[at] = true;
      ++expected;
    }
    ASSERT_EQ(busy.add(start, end, amount), expected) << round;
  }
}

}  // namespace
}  // namespace divvy::interposer
