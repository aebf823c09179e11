// The arbiter's orders about memory arrive, and its tenants' reports are never trusted.
#include "ledger/residency_pages.h"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "ledger/swap_pages.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

SwapSpec swapping(bool swappable = true) {
  SwapSpec spec;
  spec.chunk = mib(2);
  spec.devices = {{.swappable = swappable, .overcommit_permille = 1300, .budget = mib(480)}};
  return spec;
}

class ResidencyTest : public TenantTest {
 protected:
  const ControlHeader& control() { return account_.pages().control().header; }
  bool there(const char* name) { return std::filesystem::exists(dir() / name); }

  void turnOn() {
    const Result<void> set = ledger_.setSwap(swapping());
    ASSERT_TRUE(set) << set.error().message();
  }
  ResidencyPages mustOpen() {
    Result<ResidencyPages> opened = ResidencyPages::open(dir());
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      std::abort();
    }
    return std::move(*opened);
  }
  SwapPages tenantSide() {
    SwapPages pages;
    EXPECT_EQ(SwapPages::open(dir().c_str(), control(), &pages), OpenStatus::kOk);
    return pages;
  }
};

TEST_F(ResidencyTest, NoOversubscription_NoFiles) {
  EXPECT_FALSE(there("residency"));
  EXPECT_FALSE(there("swap"));
  EXPECT_EQ(control().swap.flags, 0u);
  ASSERT_TRUE(ledger_.setSwap(swapping(false)));
  EXPECT_FALSE(there("swap"));
  EXPECT_EQ(control().swap.flags, 0u);
  const Result<ResidencyPages> opened = ResidencyPages::open(dir());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kNotFound);
}

TEST_F(ResidencyTest, SwapTerms_ReachTenantWithFiles) {
  turnOn();
  EXPECT_EQ(control().swap.flags, kSwapOn);
  EXPECT_EQ(control().swap.chunk_bytes, mib(2).count);
  const DeviceSwapTerms& device = account_.pages().control().devices[0].swap;
  EXPECT_EQ(device.swappable, 1u);
  EXPECT_EQ(device.overcommit_permille, 1300u);
  EXPECT_EQ(device.budget_bytes, mib(480).count);
  struct stat info {};
  ASSERT_EQ(stat((dir() / "residency").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u) << "a tenant must not write its own orders";
  ASSERT_EQ(stat((dir() / "swap").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  EXPECT_FALSE(there(".swap"));
}

// A container is given its files before anybody knows whether its memory is ever swapped.
TEST_F(ResidencyTest, FilesMadeEarly_SwapStaysOff) {
  constexpr SipKey kKey{{7, 9}};
  ASSERT_TRUE(ledger_.makeSwapFiles(kKey));
  EXPECT_TRUE(there("residency"));
  EXPECT_TRUE(there("swap"));
  EXPECT_EQ(control().swap.flags, 0u);
  ASSERT_TRUE(ledger_.setSwap(swapping(false)));
  EXPECT_EQ(control().swap.flags & kSwapOn, 0u) << "nothing of it is swapped";
  turnOn();
  EXPECT_EQ(ledger_.ipcKey(), kKey) << "they are the same ones";
  SwapPages tenant = tenantSide();
  EXPECT_EQ(tenant.residency().header.ipc_key[1], 9u);
  tenant.close();
}

TEST_F(ResidencyTest, InvalidTerms_ChangeNothing) {
  SwapSpec spec = swapping();
  for (const std::uint64_t chunk : {std::uint64_t{0}, mib(3).count, kib(32).count, gib(1).count}) {
    spec.chunk = {chunk};
    EXPECT_FALSE(ledger_.setSwap(spec)) << chunk;
  }
  spec = swapping();
  spec.ahead = 0;
  EXPECT_FALSE(ledger_.setSwap(spec));
  spec = swapping();
  spec.devices.push_back({});
  EXPECT_FALSE(ledger_.setSwap(spec));
  EXPECT_FALSE(there("swap"));
  EXPECT_EQ(control().swap.flags, 0u);
}

TEST_F(ResidencyTest, Order_ArrivesForItsGeneration) {
  turnOn();
  ResidencyPages pages = mustOpen();
  SwapPages tenant = tenantSide();
  ResidencyOrder order;
  order.allowed[0] = 100;
  order.most[0] = 400;
  order.host_allowed = 7;
  order.reason = ResidencyReason::kOthersTurn;
  pages.order(5, 3, order);
  const ResidencyLine& line = tenant.residency().lines[5];
  EXPECT_EQ(line.owner, 4u);
  EXPECT_EQ(line.seq, 1u);
  EXPECT_EQ(line.allowed[0], 100u);
  EXPECT_EQ(line.most[0], 400u);
  EXPECT_EQ(line.host_allowed, 7u);
  EXPECT_EQ(tenant.residency().header.bell, 1u);
  ResidencyOrder standing;
  EXPECT_TRUE(pages.readOrder(5, 3, &standing));
  EXPECT_EQ(standing, order);
  EXPECT_FALSE(pages.readOrder(5, 4, &standing)) << "an order to a process that is gone";
  pages.order(5, 3, order);
  EXPECT_EQ(line.seq, 1u) << "the same again is no news";
  pages.order(5, 4, order);
  EXPECT_EQ(line.owner, 5u);
  EXPECT_EQ(line.seq, 2u);
  tenant.close();
}

TEST_F(ResidencyTest, NextAgent_OrdersStand) {
  turnOn();
  ResidencyOrder order;
  order.allowed[0] = 42;
  mustOpen().order(0, 0, order);
  Result<TenantLedger> next = TenantLedger::adopt(dir());
  ASSERT_TRUE(next) << next.error().message();
  ASSERT_TRUE(next->setSwap(swapping()));
  ResidencyOrder standing;
  EXPECT_TRUE(mustOpen().readOrder(0, 0, &standing));
  EXPECT_EQ(standing, order);
}

TEST_F(ResidencyTest, Order_WakesBellWaiter) {
  turnOn();
  ResidencyPages pages = mustOpen();
  SwapPages tenant = tenantSide();
  const std::uint32_t& bell = tenant.residency().header.bell;
  std::thread waiter([&] {
    while (loadAcquire(bell) == 0) {
      syscall(SYS_futex, &bell, FUTEX_WAIT, 0, nullptr, nullptr, 0);
    }
  });
  ResidencyOrder order;
  order.allowed[0] = 1;
  pages.order(0, 0, order);
  waiter.join();
  EXPECT_EQ(tenant.residency().lines[0].allowed[0], 1u);
  tenant.close();
}

TEST_F(ResidencyTest, Report_CountsForClaimingGeneration) {
  turnOn();
  ResidencyPages pages = mustOpen();
  SwapPages tenant = tenantSide();
  SwapLine& line = tenant.swap().lines[2];
  line.device[0].mapped = 5;
  line.device[0].pinned = 3;
  line.state = kSwapReady;
  SwapSample sample;
  EXPECT_FALSE(pages.read(2, 1, &sample)) << "nobody claimed it";
  storeRelease(line.owner, std::uint64_t{2});
  ASSERT_TRUE(pages.read(2, 1, &sample));
  EXPECT_EQ(sample.device[0].mapped, 5u);
  EXPECT_EQ(sample.device[0].pinned, 3u);
  EXPECT_EQ(sample.state, kSwapReady);
  EXPECT_FALSE(pages.read(2, 2, &sample));
  EXPECT_FALSE(pages.read(kMaxSlots, 0, &sample));
  tenant.close();
}

TEST_F(ResidencyTest, TruncatedReport_BreaksOnlyItsTenant) {
  turnOn();
  ResidencyPages pages = mustOpen();
  std::filesystem::resize_file(dir() / "swap", 64);
  SwapSample sample;
  EXPECT_FALSE(pages.read(200, 0, &sample));
  EXPECT_TRUE(pages.broken());
  const Result<ResidencyPages> again = ResidencyPages::open(dir());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kCorrupt);
  SwapPages tenant;
  EXPECT_EQ(SwapPages::open(dir().c_str(), control(), &tenant), OpenStatus::kTruncated);
}

TEST_F(ResidencyTest, OtherTenantsFiles_AreMismatched) {
  turnOn();
  TenantSpec other = specWith(kCeiling);
  other.id = "t2";
  TenantLedger second = mustCreate(private_.path() / "t2", other);
  ASSERT_TRUE(second.setSwap(swapping()));
  std::filesystem::rename(private_.path() / "t2" / "swap", dir() / "swap");
  SwapPages tenant;
  EXPECT_EQ(SwapPages::open(dir().c_str(), control(), &tenant), OpenStatus::kMismatched);
  EXPECT_FALSE(tenant.isOpen());
}

TEST_F(ResidencyTest, LaterSlots_LinesAreBacked) {
  turnOn();
  const Result<unsigned> free = ledger_.ensureFreeSlots(2 * kSlotChunk);
  ASSERT_TRUE(free) << free.error().message();
  struct stat info {};
  ASSERT_EQ(stat((dir() / "swap").c_str(), &info), 0);
  EXPECT_GE(static_cast<std::size_t>(info.st_blocks) * 512, swapBytes(2 * kSlotChunk));
  ASSERT_EQ(stat((dir() / "residency").c_str(), &info), 0);
  EXPECT_GE(static_cast<std::size_t>(info.st_blocks) * 512, residencyBytes(2 * kSlotChunk));
}

}  // namespace
}  // namespace divvy::ledger
