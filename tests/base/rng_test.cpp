#include "base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace divvy {
namespace {

// Results of old seeds are kept in reports: they must not change.
TEST(Rng, FixedSeed_SameNumbers) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 13679457532755275413u);
  EXPECT_EQ(rng.next(), 2949826092126892291u);
  EXPECT_EQ(stableHash(""), stableHash(""));
  EXPECT_NE(stableHash("node-1"), stableHash("node-2"));
}

TEST(Rng, Below_IsUniform) {
  Rng rng(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 70'000; ++i) ++seen[rng.below(7)];
  for (const int times : seen) EXPECT_NEAR(times, 10'000, 500);
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, Shuffle_EachItemEqually) {
  Rng rng(3);
  std::vector<int> first(5);
  for (int i = 0; i < 5'000; ++i) {
    std::vector<int> items(5);
    std::iota(items.begin(), items.end(), 0);
    rng.shuffle(items);
    ++first[static_cast<std::size_t>(items[0])];
    std::sort(items.begin(), items.end());
    for (int k = 0; k < 5; ++k) ASSERT_EQ(items[static_cast<std::size_t>(k)], k);
  }
  for (const int times : first) EXPECT_NEAR(times, 1'000, 150);
}

}  // namespace
}  // namespace divvy
