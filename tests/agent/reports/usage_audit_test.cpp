#include "reports/usage_audit.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(UsageAudit, SmallDifference_IsTrusted) {
  UsageAudit audit;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(audit.compare(30, 49));
  EXPECT_FALSE(audit.distrusted());
}

TEST(UsageAudit, LargeDifference_DistrustedAfterThree) {
  UsageAudit audit;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(audit.compare(0, 90));
    EXPECT_FALSE(audit.compare(0, 90));
    EXPECT_FALSE(audit.compare(80, 90));
  }
  UsageAudit other;
  EXPECT_FALSE(other.compare(0, 20));
  EXPECT_FALSE(other.compare(0, 20));
  EXPECT_TRUE(other.compare(0, 20));
  EXPECT_TRUE(other.distrusted());
}

// On an H100 two tenants whose memory took turns of a second were said to lie.
TEST(UsageAudit, TurnsOfSeconds_AreTrusted) {
  for (const int turn : {1, 2, 3, 5, 20}) {
    for (const int late : {0, 1, 2}) {  // seconds ago that the driver's two ended
      UsageAudit audit;
      for (int second = 0; second < 60; ++second) {
        const auto on = [turn](int at) { return at >= 0 && at / turn % 2 == 0 ? 100 : 0; };
        audit.compare(on(second), (on(second - late) + on(second - late - 1)) / 2);
        EXPECT_FALSE(audit.distrusted())
            << "turns of " << turn << " s, " << late << " s late, after " << second;
      }
    }
  }
}

TEST(UsageAudit, ReportOfATenth_DistrustedAfterThree) {
  UsageAudit audit;
  int seconds = 0;
  while (!audit.distrusted() && seconds < 60) audit.compare(seconds++ % 2 == 0 ? 10 : 0, 90);
  EXPECT_EQ(seconds, 3);
}

TEST(UsageAudit, MatchingReports_TrustReturns) {
  UsageAudit audit;
  for (int i = 0; i < 3; ++i) audit.compare(0, 90);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(audit.compare(90, 90));
  EXPECT_TRUE(audit.compare(90, 90));
  EXPECT_FALSE(audit.distrusted());
}

// Claiming more than was used is nobody's loss but its own.
TEST(UsageAudit, MoreThanDriverSees_IsTrusted) {
  UsageAudit audit;
  for (int i = 0; i < 10; ++i) audit.compare(90, 0);
  EXPECT_FALSE(audit.distrusted());
}

TEST(UsageAudit, NoteReportEnoughInARow_SaysSoOnce) {
  UsageAudit audit;
  EXPECT_FALSE(audit.noteReport(true, 3));
  EXPECT_FALSE(audit.noteReport(true, 3));
  EXPECT_FALSE(audit.noteReport(false, 3)) << "one that is consistent starts again";
  EXPECT_FALSE(audit.noteReport(true, 3));
  EXPECT_FALSE(audit.noteReport(true, 3));
  EXPECT_TRUE(audit.noteReport(true, 3));
  EXPECT_FALSE(audit.noteReport(true, 3));
  EXPECT_FALSE(audit.noteReport(true, 1));
}

TEST(LargestExcess, SeveralDevices_FirstWithLargestDifference) {
  EXPECT_EQ(largestExcess({}), std::nullopt);
  EXPECT_EQ(largestExcess({{50, 20}}), (UsageSample{50, 20}));
  EXPECT_EQ(largestExcess({{0, 30}, {10, 60}, {20, 70}}), (UsageSample{10, 60}));
}

}  // namespace
}  // namespace divvy::agent
