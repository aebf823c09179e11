// The arbiter's hand on a tenant: what it writes arrives, what it reads is never trusted.
#include "ledger/grants.h"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

class GrantsTest : public TenantTest {
 protected:
  GrantPages mustOpen() {
    Result<GrantPages> opened = GrantPages::open(dir());
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      std::abort();
    }
    return std::move(*opened);
  }
  const Grant& grant() { return account_.pages().control().header.grant; }
  WorkPage& work() { return *account_.pages().work(); }
};

TEST_F(GrantsTest, NewTenant_OpenAndSilent) {
  ASSERT_NE(account_.pages().work(), nullptr);
  EXPECT_EQ(grant().word, 0u);
  GrantPages pages = mustOpen();
  EXPECT_EQ(pages.state(), GateState::kOpen);
  EXPECT_EQ(pages.devices(), 1u);
  WorkSample sample;
  EXPECT_FALSE(pages.read(0, 0, &sample)) << "nobody claimed a line";
}

TEST_F(GrantsTest, NextAgent_SequenceGoesOn) {
  {
    GrantPages pages = mustOpen();
    EXPECT_EQ(pages.write(GateState::kRun, {.mode = GrantMode::kShare, .quantum_us = 7}), 1u);
  }
  GrantPages pages = mustOpen();
  EXPECT_EQ(pages.state(), GateState::kRun);
  EXPECT_EQ(grant().quantum_us, 7u);
  EXPECT_EQ(grant().mode, static_cast<std::uint32_t>(GrantMode::kShare));
  const std::uint64_t beat = grant().beat;
  EXPECT_EQ(pages.write(GateState::kHold, {}), 2u);
  EXPECT_EQ(grant().word, grantWord(GateState::kHold, 2));
  EXPECT_GT(grant().beat, beat);
  pages.write(GateState::kOpen, {});
  EXPECT_EQ(grant().word, 0u) << "open is one value, whatever the sequence";
  EXPECT_EQ(pages.seq(), 3u);
}

TEST_F(GrantsTest, Write_WakesWordWaiter) {
  GrantPages pages = mustOpen();
  pages.write(GateState::kHold, {});
  const std::uint32_t held = grant().word;
  std::atomic<bool> woken{false};
  std::thread waiter([&] {
    while (loadAcquire(grant().word) == held) {
      syscall(SYS_futex, &grant().word, FUTEX_WAIT, held, nullptr, nullptr, 0);
    }
    woken = true;
  });
  pages.write(GateState::kRun, {});
  waiter.join();
  EXPECT_TRUE(woken);
}

TEST_F(GrantsTest, Line_CountsForClaimingGeneration) {
  GrantPages pages = mustOpen();
  WorkLine& line = work().lines[3];
  line.busy[0] = 42;
  line.state = kWorkWaiting;
  storeRelease(line.owner, std::uint64_t{6});
  WorkSample sample;
  ASSERT_TRUE(pages.read(3, 5, &sample));
  EXPECT_EQ(sample.busy[0], 42u);
  EXPECT_EQ(sample.state, kWorkWaiting);
  EXPECT_FALSE(pages.read(3, 6, &sample));
  EXPECT_FALSE(pages.read(kMaxSlots, 0, &sample));
}

TEST_F(GrantsTest, TruncatedWorkPage_BrokenAndHarmless) {
  GrantPages pages = mustOpen();
  EXPECT_EQ(pages.bellValue(), 0u);
  std::filesystem::resize_file(dir() / "work", 0);
  WorkSample sample;
  EXPECT_FALSE(pages.read(0, 0, &sample));
  EXPECT_TRUE(pages.broken());
  EXPECT_EQ(pages.bellValue(), 0u);
  EXPECT_EQ(pages.write(GateState::kRun, {}), 1u) << "the grant is ours and stays in force";
}

// All signals stayed blocked where somebody had blocked them for the handler: the second fault was
// the process' end.
TEST_F(GrantsTest, SameThread_SurvivesTwoTruncations) {
  sigset_t before, after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  GrantPages first = mustOpen(), second = mustOpen();
  std::filesystem::resize_file(dir() / "work", 0);
  WorkSample sample;
  for (GrantPages* pages : {&first, &second}) {
    EXPECT_FALSE(pages->read(0, 0, &sample));
    EXPECT_TRUE(pages->broken());
  }
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (const int number : {SIGBUS, SIGTERM, SIGUSR1}) {
    EXPECT_EQ(sigismember(&after, number), sigismember(&before, number)) << number;
  }
}

TEST_F(GrantsTest, NoWorkPage_MemoryLimitsStay) {
  std::filesystem::remove(dir() / "work");
  TenantPages pages;
  ASSERT_EQ(TenantPages::open(dir().c_str(), &pages), OpenStatus::kOk);
  EXPECT_EQ(pages.work(), nullptr);
  pages.close();
  EXPECT_EQ(GrantPages::open(dir()).error().code(), ErrorCode::kCorrupt);
  Result<TenantLedger> adopted = TenantLedger::adopt(dir());
  ASSERT_TRUE(adopted);
  ASSERT_TRUE(adopted->ensureFreeSlots(kSlotChunk + 1));
}

TEST_F(GrantsTest, EarlierVersion_HasNoGrants) {
  std::fstream file(dir() / "control", std::ios::in | std::ios::out | std::ios::binary);
  Identification id;
  file.read(reinterpret_cast<char*>(&id), sizeof id);
  id.minor = kOldestMinor;
  id.features &= ~kFeatureGrant;
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(&id), sizeof id);
  file.flush();
  EXPECT_EQ(GrantPages::open(dir()).error().code(), ErrorCode::kUnsupported);
  TenantPages pages;
  ASSERT_EQ(TenantPages::open(dir().c_str(), &pages), OpenStatus::kOk);
  EXPECT_EQ(pages.work(), nullptr);
  pages.close();
}

TEST_F(GrantsTest, OtherTenantsWorkPage_IsNotUsed) {
  (void)mustCreate(private_.path() / "t2", [] {
    TenantSpec spec = specWith(kCeiling);
    spec.id = "t2";
    return spec;
  }());
  std::filesystem::rename(private_.path() / "t2" / "work", dir() / "work");
  TenantPages pages;
  ASSERT_EQ(TenantPages::open(dir().c_str(), &pages), OpenStatus::kOk);
  EXPECT_EQ(pages.work(), nullptr);
  pages.close();
}

TEST_F(GrantsTest, GrownSlots_LinesAreBacked) {
  ASSERT_TRUE(ledger_.ensureFreeSlots(3 * kSlotChunk));
  const unsigned ready = account_.pages().slotsReady();
  EXPECT_GE(ready, 3 * kSlotChunk);
  struct stat info {};
  ASSERT_EQ(::stat((dir() / "work").c_str(), &info), 0);
  EXPECT_GE(static_cast<std::size_t>(info.st_blocks) * 512, workBytes(ready));
}

}  // namespace
}  // namespace divvy::ledger
