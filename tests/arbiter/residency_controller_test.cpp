// The arbiter's thread and tenants whose memory does not fit: they take turns on it, and those
// whose memory is away take no part in turns of compute.
#include <gtest/gtest.h>

#include <list>

#include "arbiter/arbiter_manager.h"
#include "fake_app.h"
#include "fake_swapper.h"

namespace divvy::arbiter {
namespace {

using ledger::GateState;
using testing::eventually;
using testing::FakeApp;
using testing::FakeMovers;
using testing::FakeSwapper;
using testing::FakeTenant;
using testing::Scratch;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kBudget = 480 * kMib;

class ResidencyControllerTest : public ::testing::Test {
 protected:
  ResidencyControllerTest() {
    settings_.constants.quantum = kMillisecond;
    settings_.residency.quantum_min = 20 * kMillisecond;
    settings_.residency.quantum_max = 50 * kMillisecond;
    settings_.residency.idle_min = 2 * kMillisecond;
    settings_.residency.patience = 500 * kMillisecond;
  }
  void start() {
    arbiters_.emplace(settings_);
    setBudget(kBudget);
  }
  void setBudget(std::uint64_t bytes) {
    ResidencyBudget device;
    device.budget = bytes;
    device.host_reserve = 100 * kBudget;
    arbiters_->setDevice(0, device);
  }
  // With one process.
  void add(FakeSwapper& swapper) {
    FakeTenant& tenant = swapper.tenant();
    arbiters_->add(tenant.id(), tenant.dir(), {}, {0});
    ResidencyEntitlement terms;
    terms.ceiling[0] = 1024 * kMib;
    terms.base[0] = 8 * kMib;
    arbiters_->setMemory(tenant.id(), terms);
    tenant.claim();
    swapper.claim();
    arbiters_->addProcess(tenant.id(), 0, 0);
  }
  MemoryStats memory(FakeTenant& tenant) {
    const std::optional<TenantStats> figures = arbiters_->stats(tenant.id());
    return figures ? figures->memory : MemoryStats{};
  }

  Scratch scratch_;
  FakeTenant first_{scratch_, "a"};
  FakeTenant second_{scratch_, "b"};
  FakeSwapper a_{&first_};
  FakeSwapper b_{&second_};
  Settings settings_;
  std::optional<ArbiterManager> arbiters_;
};

TEST_F(ResidencyControllerTest, TwoThatDoNotFit_TakeTurns) {
  start();
  add(a_);
  add(b_);
  const FakeMovers movers({&a_, &b_}, kBudget);
  a_.allocate(312 * kMib);
  b_.allocate(312 * kMib);
  const FakeApp apps({&first_, &second_});
  EXPECT_TRUE(eventually([&] { return movers.arrivals(0) >= 5 && movers.arrivals(1) >= 5; }));
  EXPECT_TRUE(eventually([&] { return apps.turns(0) >= 5 && apps.turns(1) >= 5; }));
  EXPECT_EQ(apps.clashes(), 0u);
  EXPECT_GT(movers.peak(), 400 * kMib);
  EXPECT_TRUE(eventually([&] {
    const std::optional<ResidencyBudgetStats> device = arbiters_->device(0);
    return device && device->booked <= kBudget && device->swap_predicted > 0;
  }));
  EXPECT_TRUE(eventually([&] { return memory(first_).swaps >= 2; }));
}

// Nobody else wants the card, and still it is told of its turn: else a call could pass unseen.
TEST_F(ResidencyControllerTest, SwappedTenantAlone_GateIsNeverOpen) {
  start();
  add(a_);
  const FakeMovers movers({&a_}, kBudget);
  first_.setState(ledger::kWorkWaiting);
  ASSERT_TRUE(eventually([&] { return first_.gate() == GateState::kRun; }));
  EXPECT_TRUE(eventually([&] {
    const std::optional<TenantStats> figures = arbiters_->stats("a");
    return figures && figures->mode == Mode::kSolo && figures->gate == Gate::kRun;
  }));
  first_.setState(0);
  arbiters_->change("a", {});
  first_.setState(ledger::kWorkInFlight);
  EXPECT_TRUE(eventually([&] { return arbiters_->stats("a")->grants >= 1; }));
  EXPECT_NE(first_.gate(), GateState::kOpen);
}

TEST_F(ResidencyControllerTest, SwappedOut_TakesNoComputeTurns) {
  settings_.residency.quantum_min = settings_.residency.quantum_max = 100 * kSecond;
  start();
  add(a_);
  add(b_);
  const FakeMovers movers({&a_, &b_}, kBudget);
  a_.allocate(400 * kMib);
  const FakeApp apps({&first_, &second_});
  ASSERT_TRUE(eventually(
      [&] { return a_.has() == 400 * kMib && movers.arrivals(1) >= 1 && apps.turns(0) >= 1; }));
  b_.allocate(400 * kMib);
  ASSERT_TRUE(eventually([&] { return memory(second_).waiting && !memory(second_).resident; }));
  // It wants to run, and would be given every other turn; so the other has one without an end.
  unsigned looks = 0;
  EXPECT_TRUE(eventually([&] {
    const bool alone = first_.gate() == GateState::kRun && first_.grant().quantum_us == 0 &&
                       second_.gate() == GateState::kHold;
    looks = alone ? looks + 1 : 0;
    return looks == 300;  // many quanta
  }));
  EXPECT_EQ(memory(second_).reason, ResidencyTargetReason::kOthersTurn);
  EXPECT_GT(memory(first_).turn_left, 10 * kSecond);
  EXPECT_EQ(movers.arrivals(1), 1u) << "with nothing, before it allocated";
}

TEST_F(ResidencyControllerTest, NextAgent_KeepsAllocations) {
  settings_.residency.quantum_min = settings_.residency.quantum_max = 100 * kSecond;
  start();
  add(a_);
  add(b_);
  {
    const FakeMovers movers({&a_, &b_}, kBudget);
    a_.allocate(300 * kMib);
    first_.setState(ledger::kWorkInFlight);
    ASSERT_TRUE(eventually([&] { return a_.has() == 300 * kMib; }));
  }
  const std::uint64_t allowed = a_.allowed();
  arbiters_.reset();
  arbiters_.emplace(settings_);
  add(a_);
  add(b_);
  setBudget(kBudget);
  const FakeMovers movers({&a_, &b_}, kBudget);
  b_.allocate(300 * kMib);
  second_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(eventually([&] { return memory(second_).waiting; }));
  EXPECT_EQ(a_.has(), 300 * kMib);
  EXPECT_LE(a_.allowed(), allowed);
  EXPECT_GE(a_.allowed(), 300 * kMib);
}

TEST_F(ResidencyControllerTest, TenantEnds_MakesRoom) {
  settings_.residency.quantum_min = settings_.residency.quantum_max = 100 * kSecond;
  start();
  add(a_);
  add(b_);
  std::optional<FakeMovers> movers;
  movers.emplace(std::vector<FakeSwapper*>{&a_, &b_}, kBudget);
  a_.allocate(400 * kMib);
  first_.setState(ledger::kWorkInFlight);
  ASSERT_TRUE(eventually([&] { return a_.has() == 400 * kMib; }));
  b_.allocate(400 * kMib);
  second_.setState(ledger::kWorkWaiting);
  ASSERT_TRUE(eventually([&] { return memory(second_).waiting; }));
  movers.reset();
  a_.at().mapped = 0;
  arbiters_->removeProcess("a", 0, 0);
  movers.emplace(std::vector<FakeSwapper*>{&b_}, kBudget);
  EXPECT_TRUE(eventually([&] { return b_.has() == 400 * kMib; }));
}

// What it has stays on the device, and may be all that it is entitled to: nobody else gets that.
TEST_F(ResidencyControllerTest, TruncatedSwapFile_HarmsOnlyItsTenant) {
  start();
  arbiters_->add("a", first_.dir(), {}, {0});
  ResidencyEntitlement terms;
  terms.ceiling[0] = 200 * kMib;
  arbiters_->setMemory("a", terms);
  first_.claim();
  a_.claim();
  arbiters_->addProcess("a", 0, 0);
  add(b_);
  ASSERT_TRUE(eventually([&] { return memory(first_).swapped; }));
  a_.truncateSwap();
  first_.ring();
  ASSERT_TRUE(eventually([&] { return !memory(first_).unswapped.empty(); }));
  EXPECT_FALSE(memory(first_).swapped);
  const FakeMovers movers({&b_}, kBudget);
  b_.allocate(270 * kMib);
  second_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(eventually([&] { return b_.has() == 270 * kMib; }));
  // A thread of its waits for that: who has its turn and does nothing is thought to be stopped.
  b_.setState(ledger::kSwapWanted);
  b_.allocate(20 * kMib);
  EXPECT_TRUE(eventually([&] { return memory(second_).reason == ResidencyTargetReason::kShort; }));
  EXPECT_LE(b_.allowed(), kBudget - 200 * kMib);
  arbiters_->remove("a");
  const bool more = eventually([&] { return b_.allowed() >= 290 * kMib; });
  EXPECT_TRUE(more);
}

TEST_F(ResidencyControllerTest, NoBudget_NoOrdersGiven) {
  arbiters_.emplace(settings_);
  add(a_);
  first_.setState(ledger::kWorkWaiting);
  ASSERT_TRUE(eventually([&] { return first_.gate() == GateState::kRun; }));
  EXPECT_FALSE(a_.ordered());
  EXPECT_FALSE(memory(first_).swapped);
}

TEST_F(ResidencyControllerTest, TenantWithoutPages_CountsAtCeiling) {
  FakeTenant plain(scratch_, "c");
  start();
  arbiters_->add("c", plain.dir(), {}, {0});
  ResidencyEntitlement terms;
  terms.ceiling[0] = 300 * kMib;
  arbiters_->setMemory("c", terms);
  add(a_);
  const FakeMovers movers({&a_}, kBudget - 300 * kMib);
  a_.allocate(170 * kMib);
  first_.setState(ledger::kWorkWaiting);
  EXPECT_TRUE(eventually([&] { return a_.has() == 170 * kMib; }));
  a_.allocate(20 * kMib);
  EXPECT_TRUE(eventually([&] { return memory(first_).reason == ResidencyTargetReason::kShort; }));
  EXPECT_FALSE(memory(plain).unswapped.empty());
}

}  // namespace
}  // namespace divvy::arbiter
