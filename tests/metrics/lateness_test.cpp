#include "metrics/lateness.h"

#include <gtest/gtest.h>

namespace divvy::metrics {
namespace {

TEST(Lateness, LastMinute_LargestIsTold) {
  Lateness late;
  EXPECT_EQ(late.largest(5'000'000), 0);
  late.add(0.2, 5'000'000);
  late.add(0.01, 5'020'000);
  EXPECT_EQ(late.largest(5'049'999), 0.2);
  EXPECT_EQ(late.largest(5'060'000), 0.01);
  EXPECT_EQ(late.largest(5'090'000), 0);
  late.add(0.03, 5'090'000);
  EXPECT_EQ(late.largest(5'090'000), 0.03);
  EXPECT_EQ(late.all().count(), 3u);
}

}  // namespace
}  // namespace divvy::metrics
