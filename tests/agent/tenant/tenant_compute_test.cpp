#include "tenant/tenant_compute.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(EntitlementOf, EachPriority_HasItsClass) {
  TenantRecord record;
  record.shares.resize(1);
  record.shares[0].cores = 30;
  EXPECT_EQ(entitlementOf(record).cls, arbiter::PriorityClass::kNormal);
  record.priority = Priority::kHigh;
  EXPECT_EQ(entitlementOf(record).cls, arbiter::PriorityClass::kLatency);
  record.priority = Priority::kLow;
  EXPECT_EQ(entitlementOf(record).cls, arbiter::PriorityClass::kBestEffort);
  EXPECT_EQ(entitlementOf(record).guarantee, 30u);
  EXPECT_EQ(entitlementOf(record).ceiling, 100u);
  record.cores_policy = CoresPolicy::kCap;
  EXPECT_EQ(entitlementOf(record).ceiling, 30u);
}

}  // namespace
}  // namespace divvy::agent
