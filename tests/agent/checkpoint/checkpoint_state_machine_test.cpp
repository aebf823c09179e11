// The way of one tenant off its devices and back, by example.
#include "checkpoint/checkpoint_state_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace divvy::agent {
namespace {

using namespace std::chrono_literals;
using Answer = CheckpointAnswer;
using Call = CheckpointCall;
using Phase = CheckpointPhase;
using State = DriverState;

// A driver that does what it is asked, but for calls that are to be answered otherwise.
class CheckpointMachineTest : public ::testing::Test {
 protected:
  using Calls = std::vector<std::pair<Call, int>>;

  void begin(const std::vector<int>& pids, State state = State::kRunning) {
    for (const int pid : pids) driver_[pid] = state;
    course_.setProcesses(pids);
  }
  // All calls until none is due, but for those that ask for states.
  Calls run() {
    Calls calls;
    while (const auto step = course_.next(now_)) {
      if (step->call != Call::kState) calls.emplace_back(step->call, step->pid);
      const auto fault = faults_.find({step->call, step->pid});
      if (fault != faults_.end()) {
        const Answer answer = fault->second;
        faults_.erase(fault);
        course_.answered(answer, State::kUnknown, now_);
        continue;
      }
      State& state = driver_[step->pid];
      if (step->call == Call::kLock || step->call == Call::kRestore) state = State::kLocked;
      if (step->call == Call::kCheckpoint) state = State::kAway;
      if (step->call == Call::kUnlock) state = State::kRunning;
      course_.answered(Answer::kDone, state, now_);
    }
    return calls;
  }
  bool doomed(int pid) const {
    return !course_.doomed().empty() && course_.doomed().front().pid == pid &&
           !course_.doomed().front().why.empty();
  }

  CheckpointStateMachine course_;
  CheckpointTime now_ = 1000s;
  std::map<int, State> driver_;
  std::map<std::pair<Call, int>, Answer> faults_;
};

TEST_F(CheckpointMachineTest, TwoProcesses_LockAllBeforeCheckpoint) {
  begin({1, 2});
  EXPECT_EQ(run(), Calls{});
  course_.takeAway();
  EXPECT_EQ(
      run(),
      (Calls{{Call::kLock, 1}, {Call::kLock, 2}, {Call::kCheckpoint, 1}, {Call::kCheckpoint, 2}}));
  EXPECT_EQ(course_.phase(), Phase::kAway);
  EXPECT_EQ(run(), Calls{});
  course_.bringBack();
  EXPECT_EQ(
      run(),
      (Calls{{Call::kRestore, 1}, {Call::kRestore, 2}, {Call::kUnlock, 1}, {Call::kUnlock, 2}}));
  EXPECT_EQ(course_.phase(), Phase::kHere);
  EXPECT_TRUE(course_.doomed().empty());
}

TEST_F(CheckpointMachineTest, LockNotReady_AllUnlockPauseDoubles) {
  begin({1, 2});
  faults_[{Call::kLock, 2}] = Answer::kNotReady;
  course_.takeAway();
  EXPECT_EQ(run(), (Calls{{Call::kLock, 1}, {Call::kLock, 2}, {Call::kUnlock, 1}}));
  EXPECT_EQ(course_.phase(), Phase::kHere);
  EXPECT_EQ(course_.bar(), Ineligibility::kBusy);
  EXPECT_GT(course_.barredUntil(), now_);
  const CheckpointTime first = course_.barredUntil() - now_;
  faults_[{Call::kLock, 1}] = Answer::kNotReady;
  course_.takeAway();
  run();
  EXPECT_EQ(course_.barredUntil() - now_, 2 * first);
}

TEST_F(CheckpointMachineTest, CheckpointRefused_AllAreRestored) {
  begin({1, 2, 3});
  faults_[{Call::kCheckpoint, 2}] = Answer::kRefused;
  course_.takeAway();
  EXPECT_EQ(run(), (Calls{{Call::kLock, 1},
                          {Call::kLock, 2},
                          {Call::kLock, 3},
                          {Call::kCheckpoint, 1},
                          {Call::kCheckpoint, 2},
                          {Call::kRestore, 1},
                          {Call::kUnlock, 1},
                          {Call::kUnlock, 2},
                          {Call::kUnlock, 3}}));
  EXPECT_EQ(course_.phase(), Phase::kHere);
  EXPECT_EQ(course_.bar(), Ineligibility::kRefused);
}

TEST_F(CheckpointMachineTest, CheckpointLost_DoomedOthersReturn) {
  begin({1, 2});
  faults_[{Call::kCheckpoint, 2}] = Answer::kLost;
  course_.takeAway();
  for (int i = 0; i < 4; ++i) {  // until it was tried
    const auto step = course_.next(now_);
    ASSERT_TRUE(step);
    course_.answered(Answer::kDone, driver_[step->pid], now_);
  }
  driver_ = {{1, State::kLocked}, {2, State::kFailed}};
  run();
  EXPECT_TRUE(doomed(2));
  EXPECT_EQ(course_.phase(), Phase::kHere);
  EXPECT_EQ(driver_[1], State::kRunning);
  course_.setProcesses({1});
  EXPECT_TRUE(course_.doomed().empty());
}

TEST_F(CheckpointMachineTest, RestoreOutOfMemory_ProcessIsDoomed) {
  begin({1});
  course_.takeAway();
  run();
  course_.bringBack();
  faults_[{Call::kRestore, 1}] = Answer::kNoMemory;
  EXPECT_EQ(run(), (Calls{{Call::kRestore, 1}}));
  EXPECT_TRUE(doomed(1));
}

TEST_F(CheckpointMachineTest, RestoreWithoutRoom_LeavesAgain) {
  begin({1, 2});
  course_.takeAway();
  run();
  course_.bringBack();
  faults_[{Call::kRestore, 2}] = Answer::kNoRoom;
  EXPECT_EQ(run(), (Calls{{Call::kRestore, 1}, {Call::kRestore, 2}, {Call::kCheckpoint, 1}}));
  EXPECT_EQ(course_.phase(), Phase::kAway);
  EXPECT_GT(course_.postponedUntil(), now_);
  course_.bringBack();
  now_ = course_.postponedUntil();
  EXPECT_EQ(run().size(), 4u);
  EXPECT_EQ(course_.phase(), Phase::kHere);
}

// What its predecessor had booked for it need not be all that a restore takes.
TEST_F(CheckpointMachineTest, NoRoomAfterAgentDeath_StaysAway) {
  course_ = CheckpointStateMachine(Phase::kLeaving);
  begin({1, 2}, State::kAway);
  faults_[{Call::kRestore, 1}] = Answer::kNoRoom;
  run();
  EXPECT_EQ(course_.phase(), Phase::kAway);
}

TEST_F(CheckpointMachineTest, AgentRestarted_TenantIsBroughtBack) {
  for (const Phase phase : {Phase::kLeaving, Phase::kReturning}) {
    course_ = CheckpointStateMachine(phase);
    begin({1}, State::kLocked);
    begin({1, 2}, State::kAway);
    driver_[1] = State::kLocked;
    EXPECT_EQ(run(), (Calls{{Call::kRestore, 2}, {Call::kUnlock, 1}, {Call::kUnlock, 2}}));
    EXPECT_EQ(course_.phase(), Phase::kHere);
  }
  course_ = CheckpointStateMachine(Phase::kAway);
  begin({1}, State::kAway);
  EXPECT_EQ(run(), Calls{});
  course_.bringBack();
  EXPECT_EQ(run(), (Calls{{Call::kRestore, 1}, {Call::kUnlock, 1}}));
}

TEST_F(CheckpointMachineTest, BusySinceDeadAgent_WaitsThenDooms) {
  course_ = CheckpointStateMachine(Phase::kLeaving);
  begin({1}, State::kBusy);
  EXPECT_EQ(run(), Calls{});
  now_ += 1s;
  EXPECT_EQ(run(), Calls{});
  EXPECT_TRUE(course_.doomed().empty());
  driver_[1] = State::kAway;
  now_ += 1s;
  EXPECT_EQ(run(), (Calls{{Call::kRestore, 1}, {Call::kUnlock, 1}}));
  course_ = CheckpointStateMachine(Phase::kLeaving);
  begin({1}, State::kBusy);
  run();
  now_ += 20min;
  run();
  EXPECT_TRUE(doomed(1));
}

TEST_F(CheckpointMachineTest, UnlockRefused_RetriesUntilUnlocked) {
  begin({1});
  faults_[{Call::kCheckpoint, 1}] = Answer::kRefused;
  course_.takeAway();
  for (int i = 0; i < 5; ++i) {
    faults_[{Call::kUnlock, 1}] = Answer::kRefused;
    run();
    EXPECT_EQ(course_.phase(), Phase::kReturning);
    now_ += 60s;
  }
  faults_.clear();
  run();
  EXPECT_EQ(course_.phase(), Phase::kHere);
  EXPECT_TRUE(course_.doomed().empty());
}

TEST_F(CheckpointMachineTest, ProcessArrivesMeanwhile_IsLeftAlone) {
  begin({1});
  course_.takeAway();
  run();
  begin({1, 2});
  driver_[1] = State::kAway;
  EXPECT_EQ(run(), Calls{});
  EXPECT_EQ(course_.phase(), Phase::kAway);
  course_.setProcesses({2});
  EXPECT_EQ(course_.phase(), Phase::kHere) << "nobody is away any more";
}

TEST_F(CheckpointMachineTest, ProcessUnknownToDriver_IsSkipped) {
  begin({1, 2});
  faults_[{Call::kState, 2}] = Answer::kGone;
  course_.takeAway();
  EXPECT_EQ(run(), (Calls{{Call::kLock, 1}, {Call::kCheckpoint, 1}}));
  EXPECT_EQ(course_.phase(), Phase::kAway);
}

TEST(CheckpointPhase, Names_RoundTripAndOthersRefused) {
  for (const Phase phase : {Phase::kHere, Phase::kLeaving, Phase::kAway, Phase::kReturning})
    EXPECT_EQ(phaseNamed(phaseName(phase)), phase);
  EXPECT_FALSE(phaseNamed("gone"));
}

}  // namespace
}  // namespace divvy::agent
