#include "tenant/placement_capacity.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(MemoryPolicy, IdleTimesRecordWithoutOwn_ByPriority) {
  MemoryPolicy policy;
  policy.stop.of(Priority::kLow) = 1000;
  policy.reclaim.of(Priority::kLow) = 2000;
  TenantRecord record;
  EXPECT_EQ(policy.stopMs(record), 0u);
  record.priority = Priority::kLow;
  EXPECT_EQ(policy.stopMs(record), 1000u);
  EXPECT_EQ(policy.reclaimMs(record), 2000u);
  record.idle.stop_ms = 0;
  record.idle.reclaim_ms = 7;
  EXPECT_EQ(policy.stopMs(record), 0u);
  EXPECT_EQ(policy.reclaimMs(record), 7u);
}

TEST(MostUsed, ShareThatBecameSmaller_TheLargerOneCounts) {
  TenantRecord record;
  ShareRecord share;
  share.uuid = "GPU-a";
  share.reserve = gib(1);
  const Bytes small = mostUsed(record, share);
  EXPECT_GE(small, gib(1));
  record.stood["GPU-a"] = gib(4);
  EXPECT_GE(mostUsed(record, share), gib(4));
}

}  // namespace
}  // namespace divvy::agent
