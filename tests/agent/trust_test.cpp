#include "trust.h"

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
  EXPECT_FALSE(trust.compare(0, 20));
  EXPECT_FALSE(trust.compare(0, 20));
  EXPECT_TRUE(trust.compare(0, 20));
  EXPECT_TRUE(trust.distrusted());
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
