#include "ledger/account.h"

#include "ledger/refusal.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

using AccountTest = TenantTest;

TEST_F(AccountTest, UpToCeiling_GrantedNotOneByteMore) {
  EXPECT_EQ(account_.reserve(0, 999), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, 2), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kOverLimit);
  EXPECT_EQ(account_.total(0), 1000u);
  EXPECT_EQ(account_.free(0), 0u);
}

TEST_F(AccountTest, ReleaseInPortions_GivesAllBack) {
  ASSERT_EQ(account_.reserve(0, 1000), Admission::kGranted);
  account_.release(0, 1);
  account_.release(0, 599);
  EXPECT_EQ(account_.total(0), 400u);
  EXPECT_EQ(account_.processUsed(account_.slot(), 0), 400u);
  account_.release(0, 400);
  EXPECT_EQ(account_.total(0), 0u);
  EXPECT_EQ(faults(FaultCode::kOverRelease), 0u);
}

TEST_F(AccountTest, ReleaseTooMuch_ClampedAndCounted) {
  ASSERT_EQ(account_.reserve(0, 10), Admission::kGranted);
  account_.release(0, 25);
  EXPECT_EQ(account_.total(0), 0u);
  EXPECT_EQ(faults(FaultCode::kOverRelease), 1u);
  const ReportSnapshot seen = snapshot();
  ASSERT_EQ(seen.faults.size(), 1u);
  EXPECT_EQ(seen.faults[0].code, static_cast<std::uint32_t>(FaultCode::kOverRelease));
  EXPECT_EQ(seen.faults[0].arg, 15u);
  EXPECT_FALSE(seen.suspect()) << suspicionNames(seen.suspicions);
}

TEST_F(AccountTest, HugeAmount_RefusedNotWrapped) {
  ASSERT_EQ(account_.reserve(0, 1), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, UINT64_MAX), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, UINT64_MAX - 1), Admission::kOverLimit);
  EXPECT_EQ(account_.total(0), 1u);
}

TEST_F(AccountTest, OwnLimit_OnlyLowers) {
  account_.lowerCeiling(2000);
  EXPECT_EQ(account_.ceiling(0), 1000u);
  account_.lowerCeiling(300);
  account_.lowerCeiling(400);
  EXPECT_EQ(account_.ceiling(0), 300u);
  EXPECT_EQ(account_.reserve(0, 301), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, 300), Admission::kGranted);
}

// A share of the whole card with one context beside it.
TenantSpec withContextBeside(bool charges) {
  TenantSpec spec = specWith(1000);
  spec.devices[0].physical = {1000};
  spec.devices[0].context = {300};
  spec.context_overhead_outside = true;
  spec.charges_contexts = charges;
  return spec;
}

class ContextBesideTest : public TenantTest {
 protected:
  ContextBesideTest() : TenantTest(withContextBeside(true)) {}
};

TEST_F(ContextBesideTest, OneContext_AdmittedBesideCeilingNotShown) {
  EXPECT_EQ(account_.free(0), 1000u);
  EXPECT_EQ(account_.reserve(0, 300), Admission::kGranted);
  EXPECT_EQ(account_.total(0), 0u);
  EXPECT_EQ(account_.free(0), 1000u);
  EXPECT_EQ(account_.reserve(0, 1000), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kOverLimit);
  EXPECT_EQ(account_.total(0), 1000u);
  EXPECT_EQ(account_.free(0), 0u);
}

// Regression: a share of all memory was called a liar once it had its context and was full.
TEST_F(ContextBesideTest, FullShareWithContext_IsNotSuspect) {
  ASSERT_EQ(account_.reserve(0, 1300), Admission::kGranted);
  const ReportSnapshot seen = snapshot();
  EXPECT_FALSE(seen.suspect()) << suspicionNames(seen.suspicions);
  EXPECT_EQ(seen.devices[0].total.count, 1300u);
}

class ContextsOfAnOlderAgentTest : public TenantTest {
 protected:
  ContextsOfAnOlderAgentTest() : TenantTest(withContextBeside(false)) {}
};

TEST_F(ContextsOfAnOlderAgentTest, Ceiling_IsAsWritten) {
  EXPECT_EQ(account_.reserve(0, 1001), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, 1000), Admission::kGranted);
  EXPECT_EQ(account_.total(0), 1000u);
}

TEST_F(AccountTest, UnknownDevice_RefusedAndCounted) {
  EXPECT_EQ(account_.reserve(1, 1), Admission::kBroken);
  EXPECT_EQ(account_.reserve(4711, 1), Admission::kBroken);
  account_.release(1, 1);
  EXPECT_EQ(faults(FaultCode::kBadDevice), 3u);
  EXPECT_EQ(account_.ceiling(1), 0u);
}

TEST_F(AccountTest, ReapedAfterDeath_RefundIsExact) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  const pid_t child = spawn([&] {
    Account& inherited = account_;
    return inherited.reserve(0, 500) == Admission::kGranted ? 0 : 1;
  });
  ASSERT_EQ(waitFor(child), 0);
  EXPECT_EQ(account_.total(0), 600u);
  const ReportSnapshot before = snapshot();
  ASSERT_EQ(before.slots.size(), 2u);
  const SlotSnapshot& dead = before.slots[1];
  EXPECT_EQ(dead.owner.pid, static_cast<std::uint32_t>(child));
  EXPECT_EQ(dead.used[0].count, 500u);
  EXPECT_FALSE(ownerAlive(dead.owner));
  EXPECT_TRUE(ownerAlive(before.slots[0].owner));

  const Result<ReapResult> reaped = ledger_.reap(dead.slot, dead.generation);
  ASSERT_TRUE(reaped) << reaped.error().message();
  EXPECT_EQ(reaped->outcome, ReapOutcome::kFreed);
  EXPECT_EQ(reaped->refunded[0].count, 500u);
  EXPECT_EQ(account_.total(0), 100u);
  EXPECT_EQ(ledger_.reap(dead.slot, dead.generation)->outcome, ReapOutcome::kAlreadyFree);
  EXPECT_EQ(account_.total(0), 100u);
}

// A request may try reserve() several times; it counts when it has failed.
TEST_F(AccountTest, RequestsThatFail_CountedOnceBeyondTheirEnd) {
  noteOverLimit(account_, 1);
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, 5000), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, 5000), Admission::kOverLimit);
  EXPECT_EQ(snapshot().refusals, 0u) << "no request, or not its end";
  noteOverLimit(account_, 5000);
  noteOverLimit(account_, 4000);
  const pid_t child = spawn([&] {
    if (account_.reserve(0, 1) != Admission::kGranted) return 1;
    noteDeviceFull(account_, 700);
    notePressureWait(account_);
    return 0;
  });
  ASSERT_EQ(waitFor(child), 0);
  const SlotSnapshot dead = snapshot().slots.at(1);
  ASSERT_TRUE(ledger_.reap(dead.slot, dead.generation));
  const ReportSnapshot after = snapshot();
  EXPECT_EQ(after.refusals, 2u);
  EXPECT_EQ(after.over_limit_bytes, 4000u);
  EXPECT_EQ(after.device_full, 1u) << "counts outlive their process";
  EXPECT_EQ(after.device_full_bytes, 700u);
  EXPECT_EQ(after.pressure_waits, 1u);
}

TEST_F(AccountTest, LimitShrunk_RefusesUntilUseIsUnder) {
  ASSERT_EQ(account_.reserve(0, 600), Admission::kGranted);
  ASSERT_TRUE(ledger_.setMemory(0, {500}, {500}));
  EXPECT_EQ(account_.reserve(0, 1), Admission::kOverLimit);
  EXPECT_EQ(account_.free(0), 0u);
  account_.release(0, 200);
  EXPECT_EQ(account_.reserve(0, 101), Admission::kOverLimit);
  EXPECT_EQ(account_.reserve(0, 100), Admission::kGranted);
  ASSERT_TRUE(ledger_.setMemory(0, {500}, {2000}));
  EXPECT_EQ(account_.reserve(0, 1500), Admission::kGranted);
}

}  // namespace
}  // namespace divvy::ledger
