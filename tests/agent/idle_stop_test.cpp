// When an idle tenant is noticed, ended, and let live.
#include "tenant/idle_shutdown.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

constexpr std::uint64_t kMinute = 60'000;

class IdleStopTest : public ::testing::Test {
 protected:
  StopStep look(std::uint64_t now_ms, HookState hook = HookState::kNone) {
    const StopStep step = nextStep(stop_, terms_, use_, hook, now_ms);
    stop_ = after(step, stop_, terms_, now_ms);
    return step;
  }
  // Noticed at 160 minutes.
  void notice() { ASSERT_EQ(look(160 * kMinute), StopStep::kNotice); }

  StopTerms terms_{60 * kMinute, 5 * kMinute, kMinute};
  LastUse use_{100 * kMinute};
  PendingStop stop_;
};

TEST_F(IdleStopTest, UseIsWhatIsSeenOrSaidAndNeverInTheFuture) {
  LastUse use(1000);
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

TEST_F(IdleStopTest, NobodyIsEndedWhoNeedNot) {
  terms_.after_ms = 0;
  EXPECT_EQ(look(1u << 30), StopStep::kNothing);
}

TEST_F(IdleStopTest, NoticeThenTermThenKill) {
  EXPECT_EQ(look(159 * kMinute), StopStep::kNothing);
  notice();
  EXPECT_EQ(leftMs(stop_, terms_, 161 * kMinute), 4 * kMinute);
  EXPECT_EQ(look(164 * kMinute), StopStep::kNothing);
  EXPECT_EQ(look(165 * kMinute), StopStep::kEnd);
  EXPECT_EQ(leftMs(stop_, terms_, 165 * kMinute), kMinute);
  EXPECT_EQ(look(165 * kMinute + 1), StopStep::kNothing);
  EXPECT_EQ(look(166 * kMinute), StopStep::kKill);
  EXPECT_EQ(look(167 * kMinute), StopStep::kKill) << "until it is gone";
}

TEST_F(IdleStopTest, WorkCallsItOffAndItsTimeBeginsAnew) {
  notice();
  use_.note(true, 0, 161 * kMinute);
  EXPECT_EQ(look(162 * kMinute), StopStep::kCallOff);
  EXPECT_EQ(leftMs(stop_, terms_, 162 * kMinute), 0u);
  EXPECT_EQ(look(220 * kMinute), StopStep::kNothing);
  EXPECT_EQ(look(221 * kMinute), StopStep::kNotice);
}

TEST_F(IdleStopTest, OtherTermsCallItOff) {
  notice();
  terms_.after_ms = 0;
  EXPECT_EQ(look(161 * kMinute), StopStep::kCallOff);
}

// What a program does to end in order is no reason to let it live.
TEST_F(IdleStopTest, WorkAfterSigtermCallsNothingOff) {
  notice();
  EXPECT_EQ(look(165 * kMinute), StopStep::kEnd);
  use_.note(true, 0, 165 * kMinute + 10);
  EXPECT_EQ(look(166 * kMinute), StopStep::kKill);
}

TEST_F(IdleStopTest, AHookThatEndedWellIsNotWaitedFor) {
  notice();
  EXPECT_EQ(look(164 * kMinute, HookState::kSucceeded), StopStep::kNothing) << "it was promised";
  EXPECT_EQ(look(165 * kMinute, HookState::kSucceeded), StopStep::kEnd);
}

TEST_F(IdleStopTest, AHookThatFailsOrIsLateKeepsItAlive) {
  notice();
  EXPECT_EQ(look(161 * kMinute, HookState::kFailed), StopStep::kGiveUp);
  EXPECT_EQ(look(220 * kMinute), StopStep::kNothing);
  EXPECT_EQ(look(221 * kMinute), StopStep::kNotice);
  EXPECT_EQ(look(225 * kMinute, HookState::kRunning), StopStep::kNothing);
  EXPECT_EQ(look(226 * kMinute, HookState::kRunning), StopStep::kGiveUp);
}

}  // namespace
}  // namespace divvy::agent
