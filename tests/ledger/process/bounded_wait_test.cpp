// Bounded waiting inside one process.
#include "process/bounded_wait.h"

#include <gtest/gtest.h>

namespace divvy::ledger {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// It was: on a crowded machine, or in a container at its CPU quota, a thread woke up behind its
// limit and refused memory, though the holder of the lanes had run as little.
TEST(BoundedWait, OwnerNotRunning_BoundIsNotUsedUp) {
  BoundedWait patience(20 * kMillisecond);
  EXPECT_TRUE(patience.lasts(1000 * kMillisecond));
  for (int i = 1; i < 20; ++i) EXPECT_TRUE(patience.lasts((1000 + i * 300) * kMillisecond)) << i;
  EXPECT_FALSE(patience.lasts(9000 * kMillisecond)) << "it has had twenty rounds";
}

TEST(BoundedWait, OwnerRunning_BoundFollowsClock) {
  BoundedWait patience(20 * kMillisecond);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(patience.lasts(i * kMillisecond / 10)) << i;
  EXPECT_FALSE(patience.lasts(20 * kMillisecond));
}

TEST(BoundedWait, OneMillisecond_WaitEnds) {
  BoundedWait patience(kMillisecond);
  while (patience.wait()) {
  }
  EXPECT_FALSE(patience.wait());
}

}  // namespace
}  // namespace divvy::ledger
