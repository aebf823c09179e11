// When an idle tenant is noticed, ended, and let live.
#include "tenant_shutdown/shutdown_state_machine.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

constexpr std::uint64_t kMinute = 60'000;

class IdleShutdownTest : public ::testing::Test {
 protected:
  ShutdownAction look(std::uint64_t now_ms, HookState hook = HookState::kNone) {
    const ShutdownAction step = nextStep(stop_, terms_, use_, hook, now_ms);
    stop_ = after(step, stop_, terms_, now_ms);
    return step;
  }
  // Noticed at 160 minutes.
  void notice() { ASSERT_EQ(look(160 * kMinute), ShutdownAction::kNotice); }

  ShutdownOptions terms_{60 * kMinute, 5 * kMinute, kMinute};
  LastActivity use_{100 * kMinute};
  PendingShutdown stop_;
};

TEST_F(IdleShutdownTest, SeenOrReportedUse_NeverInFuture) {
  LastActivity use(1000);
  use.note(false, 0, 5000);
  EXPECT_EQ(use.idleMs(5000), 4000u);
  use.note(false, 3000, 5000);
  EXPECT_EQ(use.at(), 3000u);
  use.note(false, 2000, 5000);
  EXPECT_EQ(use.at(), 3000u);
  use.note(false, ~0ull, 6000);
  EXPECT_EQ(use.at(), 6000u);
  use.note(true, 0, 7000);
  EXPECT_EQ(use.idleMs(7000), 0u);
  EXPECT_EQ(use.idleMs(1), 0u);
}

TEST_F(IdleShutdownTest, ZeroIdleTime_NoAction) {
  terms_.after_ms = 0;
  EXPECT_EQ(look(1u << 30), ShutdownAction::kNothing);
}

TEST_F(IdleShutdownTest, IdleTenant_NoticeThenTermThenKill) {
  EXPECT_EQ(look(159 * kMinute), ShutdownAction::kNothing);
  notice();
  EXPECT_EQ(leftMs(stop_, terms_, 161 * kMinute), 4 * kMinute);
  EXPECT_EQ(look(164 * kMinute), ShutdownAction::kNothing);
  EXPECT_EQ(look(165 * kMinute), ShutdownAction::kEnd);
  EXPECT_EQ(leftMs(stop_, terms_, 165 * kMinute), kMinute);
  EXPECT_EQ(look(165 * kMinute + 1), ShutdownAction::kNothing);
  EXPECT_EQ(look(166 * kMinute), ShutdownAction::kKill);
  EXPECT_EQ(look(167 * kMinute), ShutdownAction::kKill) << "until it is gone";
}

TEST_F(IdleShutdownTest, WorkAfterNotice_ShutdownCancelled) {
  notice();
  use_.note(true, 0, 161 * kMinute);
  EXPECT_EQ(look(162 * kMinute), ShutdownAction::kCallOff);
  EXPECT_EQ(leftMs(stop_, terms_, 162 * kMinute), 0u);
  EXPECT_EQ(look(220 * kMinute), ShutdownAction::kNothing);
  EXPECT_EQ(look(221 * kMinute), ShutdownAction::kNotice);
}

TEST_F(IdleShutdownTest, OptionsChanged_ShutdownCancelled) {
  notice();
  terms_.after_ms = 0;
  EXPECT_EQ(look(161 * kMinute), ShutdownAction::kCallOff);
}

// What a program does to end in order is no reason to let it live.
TEST_F(IdleShutdownTest, WorkAfterSigterm_KillFollows) {
  notice();
  EXPECT_EQ(look(165 * kMinute), ShutdownAction::kEnd);
  use_.note(true, 0, 165 * kMinute + 10);
  EXPECT_EQ(look(166 * kMinute), ShutdownAction::kKill);
}

TEST_F(IdleShutdownTest, HookSucceeded_GraceIsKept) {
  notice();
  EXPECT_EQ(look(164 * kMinute, HookState::kSucceeded), ShutdownAction::kNothing)
      << "it was promised";
  EXPECT_EQ(look(165 * kMinute, HookState::kSucceeded), ShutdownAction::kEnd);
}

TEST_F(IdleShutdownTest, HookFailedOrLate_TenantKept) {
  notice();
  EXPECT_EQ(look(161 * kMinute, HookState::kFailed), ShutdownAction::kGiveUp);
  EXPECT_EQ(look(220 * kMinute), ShutdownAction::kNothing);
  EXPECT_EQ(look(221 * kMinute), ShutdownAction::kNotice);
  EXPECT_EQ(look(225 * kMinute, HookState::kRunning), ShutdownAction::kNothing);
  EXPECT_EQ(look(226 * kMinute, HookState::kRunning), ShutdownAction::kGiveUp);
}

}  // namespace
}  // namespace divvy::agent
