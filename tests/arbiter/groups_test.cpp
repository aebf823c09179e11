#include <gtest/gtest.h>

#include "arbiter/arbiter_manager.h"
#include "fake_app.h"

namespace divvy::arbiter {
namespace {

using ledger::GateState;
using testing::eventually;
using testing::FakeApp;
using testing::FakeTenant;
using testing::Scratch;

class GroupsTest : public ::testing::Test {
 protected:
  void add(FakeTenant& tenant, std::vector<unsigned> devices) { addTo(arbiters_, tenant, devices); }
  static void addTo(ArbiterManager& arbiters, FakeTenant& tenant,
                    const std::vector<unsigned>& devices) {
    arbiters.add(tenant.id(), tenant.dir(), {}, devices);
    tenant.claim();
    arbiters.addProcess(tenant.id(), 0, 0);
  }

  Scratch scratch_;
  FakeTenant a_{scratch_, "a"};
  FakeTenant b_{scratch_, "b"};
  FakeTenant wide_{scratch_, "wide", 2};
  FakeTenant other_wide_{scratch_, "other", 2};
  ArbiterManager arbiters_{Settings{}};
};

TEST_F(GroupsTest, WideTenant_MergesGroupsWhileItIsThere) {
  add(a_, {0});
  add(b_, {1});
  EXPECT_EQ(arbiters_.groups(), 2u);
  add(wide_, {0, 1});
  EXPECT_EQ(arbiters_.groups(), 1u);
  arbiters_.remove("wide");
  EXPECT_EQ(arbiters_.groups(), 2u);
  arbiters_.remove("a");
  arbiters_.remove("b");
  EXPECT_EQ(arbiters_.groups(), 0u);
}

TEST_F(GroupsTest, SeparateDevices_BothGatesOpen) {
  add(a_, {0});
  add(b_, {1});
  const FakeApp apps({&a_, &b_});
  ASSERT_TRUE(eventually([&] { return arbiters_.stats("a") && arbiters_.stats("b"); }));
  EXPECT_EQ(a_.gate(), GateState::kOpen);
  EXPECT_EQ(b_.gate(), GateState::kOpen);
}

TEST_F(GroupsTest, TwoWideTenants_AlternateOnBoth) {
  add(wide_, {0, 1});
  add(other_wide_, {1, 0});
  const FakeApp apps({&wide_, &other_wide_});
  EXPECT_TRUE(eventually([&] { return apps.turns(0) >= 10 && apps.turns(1) >= 10; }));
  EXPECT_EQ(apps.clashes(), 0u);
}

TEST_F(GroupsTest, MergeUnderLoad_AllKeepRunning) {
  FakeTenant a2(scratch_, "a2");
  add(a_, {0});
  add(a2, {0});
  add(b_, {1});
  const FakeApp apps({&a_, &a2, &b_, &wide_});
  ASSERT_TRUE(eventually([&] { return apps.turns(0) >= 3 && apps.turns(1) >= 3; }));
  add(wide_, {0, 1});
  EXPECT_TRUE(eventually([&] { return apps.turns(2) >= 3 && apps.turns(3) >= 3; }));
  const unsigned a = apps.turns(0);
  EXPECT_TRUE(eventually([&] { return apps.turns(0) >= a + 3; }));
  arbiters_.remove("wide");
  const unsigned later = apps.turns(1);
  EXPECT_TRUE(eventually([&] { return apps.turns(1) >= later + 3; }));
  EXPECT_TRUE(eventually([&] { return b_.gate() == GateState::kOpen; }));
}

// Else two would be told to run, and what each is owed would be forgotten.
TEST_F(GroupsTest, Merge_TurnStaysWithItsHolder) {
  Settings settings;
  settings.constants.quantum = 100 * kSecond;
  ArbiterManager arbiters(settings);
  FakeTenant a2(scratch_, "a2");
  addTo(arbiters, a_, {0});
  addTo(arbiters, a2, {0});
  addTo(arbiters, b_, {1});
  a_.setState(ledger::kWorkInFlight);
  ASSERT_TRUE(eventually([&] { return a_.gate() == GateState::kRun; }));
  a2.setState(ledger::kWorkWaiting);
  a_.drained();
  a_.setState(0);
  ASSERT_TRUE(eventually([&] { return a2.gate() == GateState::kRun; }));
  a2.setState(ledger::kWorkInFlight);
  a_.setState(ledger::kWorkWaiting);
  addTo(arbiters, wide_, {0, 1});
  wide_.setState(ledger::kWorkWaiting);
  ASSERT_TRUE(eventually([&] { return wide_.gate() == GateState::kHold; }));
  EXPECT_EQ(a2.gate(), GateState::kRun);
  EXPECT_EQ(a_.gate(), GateState::kHold);
}

// What was counted of a tenant is not lost with the group it was counted in.
TEST_F(GroupsTest, Merge_CountsAreKept) {
  FakeTenant a2(scratch_, "a2");
  add(a_, {0});
  add(a2, {0});
  {
    const FakeApp apps({&a_, &a2});
    ASSERT_TRUE(eventually([&] { return apps.turns(0) >= 5; }));
  }
  add(b_, {1});
  add(wide_, {0, 1});
  EXPECT_TRUE(eventually([&] {
    const auto figures = arbiters_.stats("a");
    return figures && figures->grants >= 5;
  }));
}

}  // namespace
}  // namespace divvy::arbiter
