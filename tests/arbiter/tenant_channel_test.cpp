#include "tenant_channel.h"

#include <gtest/gtest.h>

#include "fake_tenant.h"

namespace divvy::arbiter {
namespace {

using testing::FakeTenant;
using testing::Scratch;

class TenantChannelTest : public ::testing::Test {
 protected:
  TenantChannelTest() {
    Result<ledger::GrantPages> pages = ledger::GrantPages::open(tenant_.dir());
    EXPECT_TRUE(pages);
    member_.emplace("a", std::move(*pages), Entitlement{}, std::vector<unsigned>{4, 7}, Settings{});
    member_->places = {1, 0};
    tenant_.claim();
    member_->addProcess(0, 0);
    member_->observe(kSecond);
  }
  void tell(Gate gate, Nanos now) {
    Order order;
    order.gate = gate;
    order.mode = Mode::kShare;
    member_->apply(order, now);
  }
  // A grant of 10 ms from `now`, in which the tenant does what `work` says; then what it reports at
  // the beginning of the next one.
  template <typename Work>
  Report grant(Nanos now, Work work) {
    tell(Gate::kRun, now);
    work();
    member_->observe(now + 5 * kMillisecond);
    tell(Gate::kHold, now + 10 * kMillisecond);
    tenant_.drained();
    member_->observe(now + 11 * kMillisecond);
    tell(Gate::kRun, now + 20 * kMillisecond);
    const Report report = member_->observe(now + 20 * kMillisecond);
    tell(Gate::kHold, now + 21 * kMillisecond);
    return report;
  }

  Scratch scratch_;
  FakeTenant tenant_{scratch_, "a", 2};
  std::optional<TenantChannel> member_;
};

TEST_F(TenantChannelTest, BusyTime_ReportedAtGroupsPlaces) {
  tenant_.addBusy(3 * kMillisecond, 0);
  tenant_.addBusy(2 * kMillisecond, 1);
  const Report report = member_->observe(2 * kSecond);
  EXPECT_EQ(report.busy[1], 3 * kMillisecond);
  EXPECT_EQ(report.busy[0], 2 * kMillisecond);
}

TEST_F(TenantChannelTest, WaitingWithNothingInFlight_IsQuiet) {
  tenant_.setState(ledger::kWorkInFlight | ledger::kWorkWaiting);
  tell(Gate::kRun, 2 * kSecond);
  member_->observe(2 * kSecond);
  EXPECT_FALSE(member_->quiet()) << "it has its turn";
  tell(Gate::kHold, 3 * kSecond);
  member_->observe(3 * kSecond);
  EXPECT_FALSE(member_->quiet()) << "others wait until it has drained";
  tenant_.drained();
  member_->observe(3 * kSecond);
  EXPECT_FALSE(member_->quiet()) << "its last work ends, and counts, a moment later";
  tenant_.setState(ledger::kWorkWaiting);
  EXPECT_FALSE(member_->quiet()) << "nobody has seen that yet";
  member_->observe(4 * kSecond);
  EXPECT_TRUE(member_->quiet());
  EXPECT_FALSE(member_->isQuiescent(4 * kSecond))
      << "what it settles late counts for whose turn is next";
  const Nanos later = 4 * kSecond + 50 * kMillisecond;
  member_->observe(later);
  EXPECT_TRUE(member_->isQuiescent(later));
  EXPECT_FALSE(member_->isQuiescent(5 * kSecond)) << "it is seen now and then";
  tenant_.setState(0);
  member_->observe(5 * kSecond);
  EXPECT_FALSE(member_->quiet()) << "it is idle: when it comes back it rings";
  tenant_.setState(ledger::kWorkWaiting);
  member_->observe(6 * kSecond);
  EXPECT_TRUE(member_->quiet());
  tell(Gate::kRun, 7 * kSecond);
  EXPECT_FALSE(member_->quiet());
}

TEST_F(TenantChannelTest, WorkChanges_InstantIsTold) {
  tenant_.turn(ledger::kWorkWaiting, 0);
  member_->observe(2 * kSecond);
  EXPECT_FALSE(member_->reportsTimes()) << "a library from before";
  tell(Gate::kRun, 3 * kSecond);
  tenant_.turn(ledger::kWorkInFlight, 3 * kSecond + kMillisecond);
  member_->observe(4 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 3 * kSecond + kMillisecond);
  EXPECT_TRUE(member_->reportsTimes());
  member_->observe(5 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 5 * kSecond) << "nothing changed";
  tenant_.turn(ledger::kWorkWaiting, 5 * kSecond + 2 * kMillisecond);
  member_->observe(6 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 5 * kSecond + 2 * kMillisecond);
}

TEST_F(TenantChannelTest, InstantOutsideLooks_IsNotBelieved) {
  tenant_.turn(ledger::kWorkWaiting, 1);
  tell(Gate::kRun, 2 * kSecond);
  member_->observe(2 * kSecond);
  tenant_.turn(ledger::kWorkInFlight, kSecond);
  member_->observe(3 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 2 * kSecond);
  tenant_.turn(0, 9 * kSecond);
  member_->observe(4 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 4 * kSecond);
}

TEST_F(TenantChannelTest, SeveralProcesses_FirstBeginsLastEnds) {
  tenant_.claim(1);
  member_->addProcess(1, 0);
  tenant_.turn(ledger::kWorkWaiting, 1, 0);
  tenant_.turn(ledger::kWorkWaiting, 1, 1);
  tell(Gate::kRun, 2 * kSecond);
  member_->observe(2 * kSecond);
  tenant_.turn(ledger::kWorkInFlight, 2 * kSecond + 5, 0);
  tenant_.turn(ledger::kWorkInFlight, 2 * kSecond + 3, 1);
  member_->observe(3 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 2 * kSecond + 3);
  tenant_.turn(0, 3 * kSecond + 5, 0);
  tenant_.turn(0, 3 * kSecond + 3, 1);
  member_->observe(4 * kSecond);
  EXPECT_EQ(member_->turnedAt(), 3 * kSecond + 5);
}

TEST_F(TenantChannelTest, UnseenWork_IsKnownOnce) {
  tenant_.turn(ledger::kWorkWaiting, 1);
  tell(Gate::kRun, 2 * kSecond);
  member_->observe(2 * kSecond);
  EXPECT_FALSE(member_->passed());
  tenant_.launched();
  tenant_.turn(0, 2 * kSecond + kMillisecond);
  member_->observe(3 * kSecond);
  EXPECT_TRUE(member_->passed());
  EXPECT_EQ(member_->turnedAt(), 2 * kSecond + kMillisecond);
  member_->observe(4 * kSecond);
  EXPECT_FALSE(member_->passed()) << "once";
}

TEST_F(TenantChannelTest, BusyTime_NeverGoesBack) {
  tenant_.addBusy(kMillisecond);
  member_->observe(2 * kSecond);
  tenant_.line().busy[0] = 0;
  EXPECT_EQ(member_->observe(3 * kSecond).busy[1], kMillisecond);
  tenant_.line().busy[0] = UINT64_MAX;
  EXPECT_LE(member_->observe(4 * kSecond).busy[1], 3 * kSecond + 20 * kMillisecond);
}

TEST_F(TenantChannelTest, WorkBeforeArrival_IsNotCharged) {
  tenant_.claim(1, 5);
  tenant_.addBusy(kSecond, 0, 1);
  member_->addProcess(1, 5);
  EXPECT_EQ(member_->observe(2 * kSecond).busy[1], 0);
  tenant_.addBusy(kMillisecond, 0, 1);
  EXPECT_EQ(member_->observe(3 * kSecond).busy[1], kMillisecond);
}

TEST_F(TenantChannelTest, ProcessEnded_BusyTimeIsKept) {
  tenant_.addBusy(kMillisecond);
  member_->observe(2 * kSecond);
  member_->removeProcess(0, 0);
  const Report report = member_->observe(3 * kSecond);
  EXPECT_EQ(report.busy[1], kMillisecond);
  EXPECT_FALSE(report.in_flight);
}

TEST_F(TenantChannelTest, OtherGeneration_LineIsNotRead) {
  tenant_.claim(0, 1);
  tenant_.setState(ledger::kWorkInFlight);
  EXPECT_FALSE(member_->observe(2 * kSecond).in_flight);
}

TEST_F(TenantChannelTest, SeveralProcesses_LeastDrainedCounts) {
  tenant_.claim(1, 0);
  member_->addProcess(1, 0);
  tell(Gate::kRun, kSecond);
  tell(Gate::kHold, kSecond);
  tenant_.setState(ledger::kWorkInFlight, 0);
  tenant_.setState(ledger::kWorkInFlight, 1);
  tenant_.drained(0);
  EXPECT_EQ(member_->observe(2 * kSecond).drained, 0u);
  tenant_.drained(1);
  EXPECT_EQ(member_->observe(2 * kSecond).drained, member_->pages().seq());
  // Nobody is ahead of what was told.
  tenant_.line(0).drained_seq = UINT64_MAX;
  EXPECT_EQ(member_->observe(2 * kSecond).drained, member_->pages().seq());
  // An idle process has nothing to drain.
  tenant_.line(1).drained_seq = 0;
  tenant_.setState(0, 1);
  EXPECT_EQ(member_->observe(2 * kSecond).drained, member_->pages().seq());
}

// Held back while it had nothing in flight: nobody in it had a reason to prove a drain, and its
// neighbours waited for the whole drain bound.
TEST_F(TenantChannelTest, OnlyWaiting_CountsAsDrained) {
  tell(Gate::kRun, kSecond);
  tell(Gate::kHold, kSecond);
  tenant_.setState(ledger::kWorkWaiting);
  const Report report = member_->observe(2 * kSecond);
  EXPECT_TRUE(report.waiting);
  EXPECT_EQ(report.drained, member_->pages().seq());
}

// A process that was stopped while it waited got half of the card for nothing, until it went on.
TEST_F(TenantChannelTest, GrantWithoutReaction_WaitsNoMore) {
  tenant_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(member_->observe(2 * kSecond).waiting);
  tell(Gate::kRun, 3 * kSecond);
  EXPECT_TRUE(member_->observe(3 * kSecond + 4 * kMillisecond).waiting);
  tell(Gate::kHold, 3 * kSecond + 6 * kMillisecond);
  EXPECT_TRUE(member_->observe(4 * kSecond).waiting) << "to be held is no proof";
  tell(Gate::kRun, 5 * kSecond);
  EXPECT_FALSE(member_->observe(5 * kSecond + 6 * kMillisecond).waiting);
  tell(Gate::kHold, 5 * kSecond + 6 * kMillisecond);
  EXPECT_FALSE(member_->observe(6 * kSecond).waiting);
  tenant_.drained();
  EXPECT_TRUE(member_->observe(7 * kSecond).waiting) << "it goes on";
}

// A process that was stopped with work in flight kept a third of the card, and its neighbour was
// charged for half of what it had and then distrusted for it.
TEST_F(TenantChannelTest, StoppedProcess_WorkEndsAsAnnounced) {
  tenant_.setState(ledger::kWorkWaiting | ledger::kWorkInFlight);
  tenant_.line().inflight_until = 3 * kSecond;
  EXPECT_TRUE(member_->observe(2 * kSecond).in_flight);
  member_->haltProcess(0, 0);
  const Report before = member_->observe(2 * kSecond);
  EXPECT_TRUE(before.in_flight);
  EXPECT_FALSE(before.waiting);
  EXPECT_FALSE(member_->observe(3 * kSecond).in_flight);
  member_->distrusted = true;
  EXPECT_TRUE(member_->observe(4 * kSecond).in_flight) << "the driver sees more than it says";
  member_->distrusted = false;
  EXPECT_FALSE(member_->observe(4 * kSecond).in_flight);
  tenant_.launched();
  const Report after = member_->observe(5 * kSecond);
  EXPECT_TRUE(after.in_flight) << "it goes on";
  EXPECT_TRUE(after.waiting);
}

// Found in review: it waited for ever, as who waits at the gate stirs only when it is its turn.
TEST_F(TenantChannelTest, StoppedAtGate_StillWaits) {
  tenant_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(member_->observe(2 * kSecond).waiting);
  member_->haltProcess(0, 0);
  EXPECT_TRUE(member_->observe(3 * kSecond).waiting);
}

TEST_F(TenantChannelTest, StoppedWithUnknownEnd_DrainBoundIsUsed) {
  tenant_.setState(ledger::kWorkInFlight);
  EXPECT_TRUE(member_->observe(2 * kSecond).in_flight);
  member_->haltProcess(0, 0);
  EXPECT_TRUE(member_->observe(2 * kSecond + kMillisecond).in_flight);
  EXPECT_FALSE(member_->observe(3 * kSecond).in_flight);
}

TEST_F(TenantChannelTest, NoProcesses_TakesNoPart) {
  member_->removeProcess(0, 0);
  GroupStats policy;
  policy.mode = Mode::kCap;
  policy.weight = 100;
  EXPECT_EQ(member_->stats(policy).mode, Mode::kSolo);
  EXPECT_EQ(member_->stats(policy).weight, 0u);
}

TEST_F(TenantChannelTest, InflightUntil_IsBounded) {
  tenant_.setState(ledger::kWorkInFlight);
  tenant_.line().inflight_until = UINT64_MAX;
  EXPECT_EQ(member_->observe(2 * kSecond).inflight_until, 62 * kSecond);
}

TEST_F(TenantChannelTest, UnsettledGrant_IsNotCredible) {
  const Report silent = grant(2 * kSecond, [&] {
    tenant_.setState(ledger::kWorkInFlight);
    tenant_.launched();
  });
  EXPECT_FALSE(silent.credible);
  const Report honest = grant(3 * kSecond, [&] {
    tenant_.launched();
    tenant_.addBusy(kMillisecond);
  });
  EXPECT_TRUE(honest.credible);
}

TEST_F(TenantChannelTest, UnusedGrant_IsCredible) {
  EXPECT_TRUE(grant(2 * kSecond, [] {}).credible);
}

// A busy machine wakes a waiter up too late for its grant now and then, not for all of them.
TEST_F(TenantChannelTest, AlwaysWaiting_CredibleTwice) {
  tenant_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(grant(2 * kSecond, [] {}).credible);
  EXPECT_TRUE(grant(3 * kSecond, [] {}).credible);
  EXPECT_FALSE(grant(4 * kSecond, [] {}).credible);
}

TEST_F(TenantChannelTest, LongKernelSettlingAtEnd_IsCredible) {
  tell(Gate::kRun, 2 * kSecond);
  tenant_.setState(ledger::kWorkInFlight);
  tenant_.launched();
  member_->observe(2 * kSecond + kMillisecond);
  tell(Gate::kHold, 2 * kSecond + 10 * kMillisecond);
  EXPECT_TRUE(member_->observe(2 * kSecond + 11 * kMillisecond).credible);
  tenant_.drained();
  EXPECT_TRUE(member_->observe(2 * kSecond + 21 * kMillisecond).credible);
  tenant_.addBusy(20 * kMillisecond);
  tell(Gate::kRun, 2 * kSecond + 22 * kMillisecond);
  EXPECT_TRUE(member_->observe(2 * kSecond + 22 * kMillisecond).credible);
}

TEST_F(TenantChannelTest, SilentGrant_JudgedWithoutNextOne) {
  tell(Gate::kRun, 2 * kSecond);
  tenant_.setState(ledger::kWorkInFlight);
  tenant_.launched();
  member_->observe(2 * kSecond + kMillisecond);
  tell(Gate::kHold, 2 * kSecond + 10 * kMillisecond);
  EXPECT_TRUE(member_->observe(3 * kSecond).credible);
  EXPECT_FALSE(member_->observe(5 * kSecond).credible);
}

// What another law charged is not charged again.
TEST_F(TenantChannelTest, JoinsOtherGroup_BusyStartsAtZero) {
  tenant_.addBusy(3 * kMillisecond, 0);
  EXPECT_EQ(member_->observe(2 * kSecond).busy[1], 3 * kMillisecond);
  member_->join();
  EXPECT_EQ(member_->observe(3 * kSecond).busy[1], 0);
  tenant_.addBusy(kMillisecond, 0);
  EXPECT_EQ(member_->observe(4 * kSecond).busy[1], kMillisecond);
}

TEST_F(TenantChannelTest, SecondsWithoutSettling_IsNotCredible) {
  tell(Gate::kRun, 2 * kSecond);
  tenant_.setState(ledger::kWorkInFlight);
  tenant_.launched();
  EXPECT_TRUE(member_->observe(3 * kSecond).credible);
  EXPECT_FALSE(member_->observe(5 * kSecond).credible);
}

TEST_F(TenantChannelTest, TruncatedWorkFile_IsBroken) {
  tenant_.truncateWork();
  const Report report = member_->observe(2 * kSecond);
  EXPECT_FALSE(report.in_flight);
  EXPECT_TRUE(member_->pages().broken());
}

TEST_F(TenantChannelTest, Window_ShowsWhatWasCharged) {
  GroupStats policy;
  policy.gate = Gate::kHold;
  policy.got[1] = 5 * kSecond;
  member_->sample(policy, 10 * kSecond);
  EXPECT_EQ(member_->stats(policy).got_permille[0], -1);
  policy.got[1] += 300 * kMillisecond;
  policy.throttled += 600 * kMillisecond;
  policy.grants += 50;
  member_->sample(policy, 11 * kSecond);
  const TenantStats figures = member_->stats(policy);
  EXPECT_EQ(figures.got_permille[0], 300);
  EXPECT_EQ(figures.throttled_permille, 600u);
  EXPECT_EQ(figures.grants_per_s, 50u);
}

TEST(AtSpeed, SlowCard_SettingsAreScaled) {
  const Settings slow = atSpeed(Settings{}, 0.1);
  EXPECT_EQ(slow.constants.quantum, 100 * kMillisecond);
  EXPECT_EQ(slow.constants.idle, 2 * kMillisecond);
  EXPECT_EQ(slow.escape_ms, 1000u);
  EXPECT_EQ(slow.card_permille, 100u);
  EXPECT_EQ(slow.lease_ms, 2000u);
  EXPECT_EQ(atSpeed(Settings{}, 1).constants.gap_max, Constants{}.gap_max);
}

}  // namespace
}  // namespace divvy::arbiter
