// What a tenant's processes say of their memory is bounded, and what they are told adds up.
#include "tenant_residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "../cost_bound.h"
#include "fake_swapper.h"

namespace divvy::arbiter {
namespace {

using testing::FakeSwapper;
using testing::FakeTenant;
using testing::Scratch;

class TenantResidencyTest : public ::testing::Test {
 protected:
  TenantResidencyTest() {
    open();
    swapper_.claim();
    lodging_->addProcess(0, 0);
  }
  void open() {
    Result<ledger::ResidencyPages> pages = ledger::ResidencyPages::open(tenant_.dir());
    ASSERT_TRUE(pages) << pages.error().message();
    lodging_.emplace(std::move(*pages), 1);
  }
  void tell(std::uint64_t allowed, std::uint64_t host = 0, std::uint64_t want = 1000) {
    ResidencyTarget order;
    order.want[0] = want;
    order.allowed[0] = allowed;
    order.most[0] = 1000;
    order.host_allowed = host;
    lodging_->apply(order);
  }
  ResidentBytes look() { return lodging_->observe(kSecond).at[0]; }

  Scratch scratch_;
  FakeTenant tenant_{scratch_, "a"};
  FakeSwapper swapper_{&tenant_};
  std::optional<TenantResidency> lodging_;
};

TEST_F(TenantResidencyTest, Look_ReportsBytes) {
  swapper_.at() = {100, 60, 20, 7, 0, 0, 0, 0};
  const ResidentBytes holding = look();
  EXPECT_EQ(holding, (ResidentBytes{100, 60, 20, 7, 80}));
}

TEST_F(TenantResidencyTest, SeveralProcesses_AreSummed) {
  swapper_.claim(1, 4);
  lodging_->addProcess(1, 4);
  swapper_.at(0) = {100, 60, 20, 0, 0, 0, 0, 0};
  swapper_.at(1) = {10, 6, 2, 1, 0, 0, 0, 0};
  EXPECT_EQ(look(), (ResidentBytes{110, 66, 22, 1, 88}));
  lodging_->removeProcess(1, 4);
  EXPECT_EQ(look(), (ResidentBytes{100, 60, 20, 0, 80}));
}

TEST_F(TenantResidencyTest, AllowedBytes_CountAsHeld) {
  tell(100);
  EXPECT_EQ(look().held, 100u);
  swapper_.at() = {70, 70, 0, 0, 0, 0, 0, 0};
  tell(30);
  EXPECT_EQ(look().held, 70u) << "it has more than it may";
  swapper_.at().mapped = 10;
  EXPECT_EQ(look().held, 30u);
}

// It may have taken something before it saw that it may not, and not shown it yet.
TEST_F(TenantResidencyTest, LoweredOrder_CountsAfterNextRead) {
  tell(100);
  look();
  swapper_.claim(1, 0);
  lodging_->addProcess(1, 0);
  swapper_.at(1).want = 40;
  look();
  EXPECT_EQ(swapper_.allowed(0), 30u);
  EXPECT_EQ(swapper_.allowed(1), 0u);
  look();
  EXPECT_EQ(swapper_.allowed(1), 70u);
}

TEST_F(TenantResidencyTest, EarlierArbitersOrder_StillCounts) {
  tell(100);
  open();
  lodging_->addProcess(0, 0);
  EXPECT_EQ(look().held, 100u);
}

TEST_F(TenantResidencyTest, ProcessWithoutLine_IsTold) {
  swapper_.line(2).owner = 0;
  lodging_->addProcess(2, 9);
  tell(100);
  EXPECT_TRUE(swapper_.ordered(2, 9));
  EXPECT_EQ(swapper_.allowed(0) + swapper_.allowed(2), 100u);
}

// Nobody gives anything for it.
TEST_F(TenantResidencyTest, WantAboveTarget_OnlyTargetIsTaken) {
  tell(100, 0, 30);
  swapper_.at(0) = {100, 100, 0, 0, 0, 0, 0, 0};
  look();
  swapper_.claim(1, 0);
  lodging_->addProcess(1, 0);
  swapper_.at(1).want = 40;
  look();
  EXPECT_EQ(swapper_.allowed(0), 70u) << "30 of it may be";
  tell(100, 0, 0);
  EXPECT_EQ(swapper_.allowed(0), 100u);
}

// One gives, then the other may take.
TEST_F(TenantResidencyTest, NotGivenBack_OtherWaitsForIt) {
  tell(100);
  swapper_.at(0) = {100, 100, 0, 0, 0, 0, 0, 0};
  look();
  swapper_.claim(1, 0);
  lodging_->addProcess(1, 0);
  swapper_.at(1).want = 40;
  look();
  EXPECT_EQ(swapper_.allowed(0), 60u);
  EXPECT_EQ(swapper_.allowed(1), 0u);
  swapper_.at(0).mapped = 80;
  look();
  EXPECT_EQ(swapper_.allowed(1), 20u);
  swapper_.at(0).mapped = 60;
  EXPECT_EQ(look().held, 100u);
  EXPECT_EQ(swapper_.allowed(1), 40u);
}

TEST_F(TenantResidencyTest, SameOrder_NotToldAgain) {
  tell(100);
  const std::uint64_t seq = swapper_.order().seq;
  tell(100);
  look();
  EXPECT_EQ(swapper_.order().seq, seq);
}

TEST_F(TenantResidencyTest, Ready_OnlyWantingProcessesCount) {
  swapper_.claim(1, 0);
  lodging_->addProcess(1, 0);
  swapper_.at(0).swappable = 10;
  swapper_.at(1).swappable = 10;
  EXPECT_FALSE(lodging_->observe(kSecond).ready);
  swapper_.setState(ledger::kSwapReady, 0);
  EXPECT_FALSE(lodging_->observe(kSecond).ready);
  lodging_->noteWork(0, 0, true, 0);
  const ResidencyReport stay = lodging_->observe(kSecond);
  EXPECT_TRUE(stay.ready);
  EXPECT_TRUE(stay.wants);
  swapper_.setState(ledger::kSwapWanted, 1);
  EXPECT_FALSE(lodging_->observe(kSecond).ready);
}

TEST_F(TenantResidencyTest, IdleSince_IsWhenWorkStopped) {
  lodging_->noteWork(0, 0, true, 0);
  EXPECT_TRUE(lodging_->observe(kSecond).wants);
  lodging_->noteWork(0, 0, false, 0);
  EXPECT_EQ(lodging_->observe(2 * kSecond).idle_since, 2 * kSecond);
  EXPECT_EQ(lodging_->observe(3 * kSecond).idle_since, 2 * kSecond);
}

// An agent that took it over goes by what it says, until it has seen for itself.
TEST_F(TenantResidencyTest, IdleSince_SurvivesAgent) {
  lodging_->noteWork(0, 0, false, 3 * kSecond);
  EXPECT_EQ(lodging_->observe(90 * kSecond).idle_since, 3 * kSecond);
  lodging_->noteWork(0, 0, false, INT64_MAX);
  EXPECT_EQ(lodging_->observe(91 * kSecond).idle_since, 90 * kSecond) << "not in the future";
  lodging_->noteWork(0, 0, true, 3 * kSecond);
  EXPECT_EQ(lodging_->observe(92 * kSecond).idle_since, 0);
  lodging_->noteWork(0, 0, false, 3 * kSecond);
  EXPECT_EQ(lodging_->observe(93 * kSecond).idle_since, 93 * kSecond);
}

TEST_F(TenantResidencyTest, Refusal_CountsForLastOrderOnly) {
  tell(100);
  swapper_.line().refusal = static_cast<std::uint32_t>(ledger::SwapRefusal::kNotDrained);
  EXPECT_FALSE(lodging_->observe(kSecond).refused) << "of an earlier one";
  swapper_.line().seen_seq = swapper_.order().seq;
  EXPECT_TRUE(lodging_->observe(kSecond).refused);
  swapper_.line().refusal = static_cast<std::uint32_t>(ledger::SwapRefusal::kNoDeviceMemory);
  EXPECT_FALSE(lodging_->observe(kSecond).refused) << "that is no reason to keep what it has";
  swapper_.line().refusal = UINT32_MAX;
  EXPECT_FALSE(lodging_->observe(kSecond).refused);
}

TEST_F(TenantResidencyTest, HugeByteCounts_DoNotOverflow) {
  for (unsigned slot = 0; slot < 60; ++slot) {
    swapper_.claim(slot, 0);
    lodging_->addProcess(slot, 0);
    swapper_.at(slot) = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, 0, 0};
  }
  const ResidentBytes holding = look();
  for (const std::uint64_t bytes : {holding.swappable, holding.mapped, holding.pinned})
    EXPECT_EQ(bytes, 60 * (std::uint64_t{1} << 50));
  tell(100);
  look();
}

// A tenant may fill all its slots: sums of sums took 3.2 s of the thread that also beats for every
// tenant of the card. What is measured is the thread's own time, about 5 ms.
// An observation for each pair of processes would make a tenant of 4,096 cost seconds. The costs
// are compared within one run, so that neither a sanitizer nor a busy machine decides.
TEST_F(TenantResidencyTest, ManyProcesses_CostIsNotSquared) {
  const auto cost = [this] {
    auto cheapest = std::chrono::nanoseconds::max();
    for (int measurement = 0; measurement < 4; ++measurement) {
      const auto before = processorTime();
      tell(4'000'000 + measurement);
      look();
      cheapest = std::min(cheapest, processorTime() - before);
    }
    return cheapest;
  };
  unsigned slot = 0;
  const auto processes = [this, &slot](unsigned count) {
    for (; slot < count; ++slot) {
      swapper_.claim(slot, 0);
      lodging_->addProcess(slot, 0);
      swapper_.at(slot) = {100, 60, 20, slot % 7, 0, 0, 0, 0};
    }
  };
  processes(ledger::kMaxSlots / 32);
  const auto few = cost();
  processes(ledger::kMaxSlots);
  EXPECT_LT(cost(), few * 300) << "linear is 32, squared is 1024";
}

TEST_F(TenantResidencyTest, SwapWork_OnlySinceArrival) {
  swapper_.at().out_bytes = 1000;
  look();
  EXPECT_EQ(lodging_->takeSwapWork(0).out_bytes, 0u);
  swapper_.at().out_bytes = 1500;
  swapper_.at().out_ns = 50;
  look();
  const SwapWork work = lodging_->takeSwapWork(0);
  EXPECT_EQ(work.out_bytes, 500u);
  EXPECT_EQ(work.out_ns, 50u);
  EXPECT_EQ(lodging_->takeSwapWork(0).out_bytes, 0u);
}

TEST_F(TenantResidencyTest, MapsHost_OnlyIfAllSwappableDo) {
  EXPECT_FALSE(lodging_->observe(kSecond).maps_host);
  swapper_.at(0).swappable = 100;
  swapper_.line(0).state |= ledger::kSwapMapsHost;
  EXPECT_TRUE(lodging_->observe(kSecond).maps_host);
  swapper_.claim(1, 0);
  lodging_->addProcess(1, 0);
  EXPECT_TRUE(lodging_->observe(kSecond).maps_host) << "it has no memory that would stand still";
  swapper_.at(1).swappable = 10;
  EXPECT_FALSE(lodging_->observe(kSecond).maps_host);
}

TEST_F(TenantResidencyTest, MayMapHost_ProcessIsTold) {
  ResidencyTarget order;
  order.allowed[0] = 100;
  order.host_map = true;
  lodging_->apply(order);
  EXPECT_EQ(swapper_.order().flags, ledger::kMayHostMap);
  tell(100);
  EXPECT_EQ(swapper_.order().flags, 0u);
}

TEST_F(TenantResidencyTest, TruncatedFile_IsBroken) {
  swapper_.truncateSwap();
  look();
  EXPECT_TRUE(lodging_->broken());
}

}  // namespace
}  // namespace divvy::arbiter
