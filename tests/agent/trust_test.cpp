#include "tenant/usage_audit.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(Trust, SmallDifferencesAreTheSamplesFault) {
  Trust trust;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(trust.compare(30, 49));
  EXPECT_FALSE(trust.distrusted());
}

TEST(Trust, ALargeOneMustStay) {
  Trust trust;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(trust.compare(0, 90));
    EXPECT_FALSE(trust.compare(0, 90));
    EXPECT_FALSE(trust.compare(80, 90));
  }
  Trust other;
  EXPECT_FALSE(other.compare(0, 20));
  EXPECT_FALSE(other.compare(0, 20));
  EXPECT_TRUE(other.compare(0, 20));
  EXPECT_TRUE(other.distrusted());
}

// On an H100 two tenants whose memory took turns of a second were said to lie.
TEST(Trust, WhoTakesTurnsOfSecondsIsBelieved) {
  for (const int turn : {1, 2, 3, 5, 20}) {
    for (const int late : {0, 1, 2}) {  // seconds ago that the driver's two ended
      Trust trust;
      for (int second = 0; second < 60; ++second) {
        const auto on = [turn](int at) { return at >= 0 && at / turn % 2 == 0 ? 100 : 0; };
        trust.compare(on(second), (on(second - late) + on(second - late - 1)) / 2);
        EXPECT_FALSE(trust.distrusted())
            << "turns of " << turn << " s, " << late << " s late, after " << second;
      }
    }
  }
}

TEST(Trust, WhoSaysATenthOfItIsFoundAllTheSame) {
  Trust trust;
  int seconds = 0;
  while (!trust.distrusted() && seconds < 60) trust.compare(seconds++ % 2 == 0 ? 10 : 0, 90);
  EXPECT_EQ(seconds, 3);
}

TEST(Trust, ComesBack) {
  Trust trust;
  for (int i = 0; i < 3; ++i) trust.compare(0, 90);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(trust.compare(90, 90));
  EXPECT_TRUE(trust.compare(90, 90));
  EXPECT_FALSE(trust.distrusted());
}

// Claiming more than was used is nobody's loss but its own.
TEST(Trust, MoreThanTheDriverSeesIsBelieved) {
  Trust trust;
  for (int i = 0; i < 10; ++i) trust.compare(90, 0);
  EXPECT_FALSE(trust.distrusted());
}

}  // namespace
}  // namespace divvy::agent
