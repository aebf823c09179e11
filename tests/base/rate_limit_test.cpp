#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::steady_clock::time_point kBegin{};

TEST(RateLimit, Burst_ThenRate) {
  RateLimit limit({50, 200});
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(limit.take("a", kBegin)) << i;
  EXPECT_FALSE(limit.take("a", kBegin));
  unsigned given = 0;
  for (int ms = 1; ms <= 1000; ++ms) given += limit.take("a", kBegin + ms * 1ms) ? 1 : 0;
  EXPECT_GE(given, 49u);
  EXPECT_LE(given, 51u);
}

TEST(RateLimit, LoudSender_OthersUnaffected) {
  RateLimit limit({1, 3});
  for (int i = 0; i < 1000; ++i) limit.take("loud", kBegin);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.take("quiet", kBegin));
}

TEST(RateLimit, ManySenders_OldestForgotten) {
  RateLimit limit({0.001, 1});
  EXPECT_TRUE(limit.take("first", kBegin));
  for (std::size_t i = 0; i < 3 * RateLimit::kMax; ++i) {
    limit.take(std::to_string(i), kBegin + std::chrono::milliseconds(i));
    ASSERT_LE(limit.size(), RateLimit::kMax);
  }
  EXPECT_TRUE(limit.take("first", kBegin + 1h)) << "starts with a full bucket";
}

}  // namespace
}  // namespace divvy
