#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

using namespace std::chrono_literals;
constexpr TokenBucket::Instant kBegin = TokenBucket::Instant() + 1h;

TEST(TokenBucket, Take_BurstThenNoneUntilRefilled) {
  TokenBucket bucket({10, 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kBegin)) << i;
  EXPECT_FALSE(bucket.take(kBegin));
  EXPECT_FALSE(bucket.take(kBegin + 99ms));
  EXPECT_TRUE(bucket.take(kBegin + 101ms));
  EXPECT_FALSE(bucket.take(kBegin + 102ms));
}

TEST(TokenBucket, Take_RefilledUpToTheBurst) {
  TokenBucket bucket({10, 3});
  EXPECT_TRUE(bucket.take(kBegin));
  unsigned given = 0;
  for (int i = 0; i < 10; ++i) given += bucket.take(kBegin + 1h) ? 1 : 0;
  EXPECT_EQ(given, 3u);
}

TEST(TokenBucket, Reserve_WaitsOfTheRateBehindTheBurst) {
  TokenBucket bucket({10, 2});
  EXPECT_EQ(bucket.reserve(kBegin), 0s);
  EXPECT_EQ(bucket.reserve(kBegin), 0s);
  EXPECT_EQ(bucket.reserve(kBegin), 100ms);
  EXPECT_EQ(bucket.reserve(kBegin), 200ms);
  EXPECT_EQ(bucket.reserve(kBegin + 200ms), 100ms);
  EXPECT_EQ(bucket.reserve(kBegin + 1h), 0s);
}

TEST(TokenBucket, Reserved_NotTakenBefore) {
  TokenBucket bucket({10, 1});
  EXPECT_TRUE(bucket.take(kBegin));
  EXPECT_EQ(bucket.reserve(kBegin), 100ms);
  EXPECT_FALSE(bucket.take(kBegin + 150ms));
  EXPECT_TRUE(bucket.take(kBegin + 201ms));
}

}  // namespace
}  // namespace divvy
