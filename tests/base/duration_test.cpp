#include "base/duration.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

TEST(FormatDuration, Text_LargestUnitOfTwoOrMore) {
  EXPECT_EQ(formatDuration(0, kShortUnits), "0s");
  EXPECT_EQ(formatDuration(119, kShortUnits), "119s");
  EXPECT_EQ(formatDuration(120, kShortUnits), "2m");
  EXPECT_EQ(formatDuration(7199, kShortUnits), "119m");
  EXPECT_EQ(formatDuration(7200, kShortUnits), "2h");
  EXPECT_EQ(formatDuration(172'799, kShortUnits), "47h");
  EXPECT_EQ(formatDuration(172'800, kShortUnits), "2d");
}

TEST(FormatDuration, UnitsToHours_NoDays) {
  EXPECT_EQ(formatDuration(119, kShortUnitsToHours), "119s");
  EXPECT_EQ(formatDuration(7199, kShortUnitsToHours), "119m");
  EXPECT_EQ(formatDuration(172'800, kShortUnitsToHours), "48h");
}

TEST(FormatDuration, SpacedText_TwoUnits) {
  EXPECT_EQ(formatDuration(-5, kSpacedUnitsToHours), "-5 s");
  EXPECT_EQ(formatDuration(119, kSpacedUnitsToHours), "119 s");
  EXPECT_EQ(formatDuration(600, kSpacedUnitsToHours), "10 min");
  EXPECT_EQ(formatDuration(172'800, kSpacedUnitsToHours), "48 h");
}

}  // namespace
}  // namespace divvy
