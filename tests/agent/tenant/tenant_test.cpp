#include "tenant/tenant.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(TenantActivity, NoteDriverNoFigures_ForgetsWhatWasSeen) {
  TenantActivity activity;
  EXPECT_FALSE(activity.seen());
  activity.noteDriver(false, 1000);
  ASSERT_TRUE(activity.seen());
  EXPECT_EQ(activity.seen()->idleMs(4000), 3000u);
  activity.noteDriver(true, 5000);
  EXPECT_EQ(activity.seen()->idleMs(5000), 0u);
  activity.noteDriver(std::nullopt, 6000);
  EXPECT_FALSE(activity.seen());
}

TEST(TenantActivity, BeginAfterUse_StartsAgainThere) {
  TenantActivity activity;
  activity.note(true, 0, 9000);
  EXPECT_EQ(activity.use().idleMs(9000), 0u);
  activity.begin(2000);
  EXPECT_EQ(activity.use().idleMs(9000), 7000u);
  EXPECT_FALSE(activity.isOpen());
}

TEST(TenantActivity, OpenNoPages_FailsAndStaysClosed) {
  TenantActivity activity;
  EXPECT_FALSE(activity.open("/nowhere/tenant"));
  EXPECT_FALSE(activity.isOpen());
}

TEST(Tenant, ReportsActivityNothingOpen_IsFalse) {
  asio::io_context loop;
  const Tenant tenant(loop);
  EXPECT_FALSE(reportsActivity(tenant));
  EXPECT_TRUE(useOf(tenant).empty());
  EXPECT_TRUE(swapOf(tenant).devices.empty());
  EXPECT_FALSE(tenant.liveness.held());
  EXPECT_FALSE(tenant.liveness.saidEnded());
}

}  // namespace
}  // namespace divvy::agent
