// What a tenant may have, among its processes.
#include "policy/apportion.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace divvy::arbiter {
namespace {

using Bytes = std::vector<std::uint64_t>;

TEST(SplitAllowed, OneProcess_GetsAll) {
  EXPECT_EQ(splitAllowed(100, {{10, 0, 20}}), (Bytes{100}));
  EXPECT_EQ(splitAllowed(5, {{10, 0, 20}}), (Bytes{5}));
  EXPECT_EQ(splitAllowed(100, {}), Bytes{});
}

TEST(SplitAllowed, Pinned_ComesFirst) {
  EXPECT_EQ(splitAllowed(50, {{0, 60, 60}, {30, 0, 60}}), (Bytes{20, 30}));
}

TEST(SplitAllowed, Shortage_LargestGivesFirst) {
  EXPECT_EQ(splitAllowed(100, {{0, 40, 40}, {0, 80, 80}}), (Bytes{40, 60}));
  EXPECT_EQ(splitAllowed(30, {{0, 40, 40}, {0, 80, 80}}), (Bytes{30, 0}));
}

TEST(SplitAllowed, Missing_GivenInOrder) {
  EXPECT_EQ(splitAllowed(100, {{0, 0, 70}, {0, 20, 70}}), (Bytes{70, 30}));
}

TEST(SplitAllowed, Surplus_SharedEvenly) {
  EXPECT_EQ(splitAllowed(100, {{10, 20, 20}, {10, 20, 20}}), (Bytes{50, 50}));
}

// All of it, never more, and nobody has to move anything as long as all that is there may stay.
TEST(SplitAllowed, RandomParts_AddUp) {
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 10'000; ++i) {
    std::vector<SplitPart> parts(1 + random() % 5);
    std::uint64_t there = 0;
    for (SplitPart& part : parts) {
      part = {random() % 50, random() % 120, random() % 100};
      there += part.pinned + std::min(part.mapped, part.swappable);
    }
    const std::uint64_t allowed = random() % 600;
    const Bytes split = splitAllowed(allowed, parts);
    EXPECT_EQ(std::accumulate(split.begin(), split.end(), std::uint64_t{0}), allowed);
    if (allowed < there) continue;
    for (std::size_t p = 0; p < parts.size(); ++p)
      EXPECT_GE(split[p], parts[p].pinned + std::min(parts[p].mapped, parts[p].swappable));
  }
}

}  // namespace
}  // namespace divvy::arbiter
