// Hostile bytes never crash a reader, never make it loop, and never get past its bounds.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "hostile_pages.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

std::vector<std::uint8_t> randomEdits(std::mt19937_64& random) {
  constexpr std::uint64_t kTelling[] = {0,          1,       UINT64_MAX,        INT64_MAX,
                                        1ull << 63, kMaxSeq, 0x0000ffff0000ffff};
  std::vector<std::uint8_t> edits;
  const unsigned count = 1 + static_cast<unsigned>(random() % 24);
  for (unsigned i = 0; i < count; ++i) {
    // Seldom the control page (most edits make it unreadable) and seldom a truncation.
    const std::uint64_t dice = random() % 32;
    const std::uint8_t what = dice == 0 ? 0 : dice == 1 ? 3 : dice % 2 == 0 ? 1 : 2;
    const std::uint64_t offset = random() % (1 << 12);
    const std::uint64_t value =
        random() % 2 == 0 ? random() : kTelling[random() % std::size(kTelling)];
    edits.push_back(what);
    for (int shift = 0; shift < 24; shift += 8) edits.push_back(offset >> shift & 0xff);
    for (int shift = 0; shift < 64; shift += 8) edits.push_back(value >> shift & 0xff);
  }
  return edits;
}

TEST(HostilePages, RandomEdits_ReaderIsNotMisled) {
  for (unsigned seed = 1; seed <= 3000 / kSlowdown; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<std::uint8_t> edits = randomEdits(random);
    ASSERT_EQ(judgeHostilePages(edits.data(), edits.size()), "") << "seed " << seed;
  }
}

TEST(HostilePages, NoEdits_PagesAreSound) {
  EXPECT_EQ(judgeHostilePages(nullptr, 0), "");
}

TEST(HostilePages, FuzzCorpus_JudgedRight) {
  const char* source = std::getenv("DIVVY_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "run by ctest, which sets DIVVY_SOURCE_DIR";
  std::size_t count = 0;
  const std::filesystem::path corpus =
      std::filesystem::path(source) / "tests/ledger/corpus/fuzz_ledger_report";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(judgeHostilePages(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
              "")
        << entry.path();
    ++count;
  }
  EXPECT_GE(count, 20u);
}

class HostileTest : public TenantTest {
 protected:
  // nullptr where a fault in the middle of an atomic store can be survived. (Reading alone can,
  // under the thread sanitizer as well: see GrantsTest, ResidencyTest.)
  static const char* whyNoTruncation() {
#if defined(__SANITIZE_THREAD__)
    return "the thread sanitizer keeps its lock of a word where a store faults";
#else
    return nullptr;
#endif
  }
};

TEST_F(HostileTest, ForgedValues_ClampedAndNamed) {
  ASSERT_EQ(account_.reserve(0, 10), Admission::kGranted);
  const auto suspect = [&](Inconsistency reason) {
    const ReportSnapshot seen = snapshot();
    EXPECT_NE(seen.suspicions & static_cast<std::uint32_t>(reason), 0u)
        << suspicionNames(static_cast<std::uint32_t>(reason)) << " is not among "
        << suspicionNames(seen.suspicions);
    return seen;
  };
  page().devices[0].total.low = UINT64_MAX;
  EXPECT_EQ(suspect(Inconsistency::kTotal).devices[0].admitted, gib(80));
  page().devices[0].total.low = 10;
  const std::uint64_t used = std::exchange(page().slots[0].lanes[3].used[0], UINT64_MAX);
  EXPECT_EQ(suspect(Inconsistency::kUsed).slots[0].used[0], gib(80));
  page().slots[0].lanes[3].used[0] = used;
  page().devices[0].total.high = packTag({5000, 0, 1});
  suspect(Inconsistency::kTag);
  page().devices[0].total.high = 0;
  page().slots[6].lanes[1].seq = 99;
  page().slots[6].state.low = packState(0, Phase::kLive);
  suspect(Inconsistency::kSequence);
  page().slots[6].lanes[1].seq = 0;
  page().slots[6].state.low = 0;
  page().header.faults[3] = {4, 1000, 0, 0, 0};
  suspect(Inconsistency::kFaultRing);
  page().header.faults[3] = {};
  page().slots[5].state.low = 0xee;
  EXPECT_EQ(suspect(Inconsistency::kPhase).slots[1].phase, Phase::kReaping);
  EXPECT_EQ(ledger_.reap(5, 0)->outcome, ReapOutcome::kFreed);
  page().header.id.magic = 0;
  suspect(Inconsistency::kHeader);
  page().header.id.magic = kReportMagic;
  EXPECT_FALSE(snapshot().suspect()) << suspicionNames(snapshot().suspicions);
}

// A tenant that lowers its total to get more is not believed: the slots say otherwise.
TEST_F(HostileTest, TotalAgainstSlots_SumMismatchIsNamed) {
  ASSERT_EQ(account_.reserve(0, 900), Admission::kGranted);
  page().devices[0].total.low = 0;
  EXPECT_EQ(snapshot().suspicions, static_cast<std::uint32_t>(Inconsistency::kSumMismatch));
  EXPECT_EQ(suspicionNames(snapshot().suspicions), "sum mismatch");
}

TEST_F(HostileTest, ForgedSequenceNumbers_SlotIsRetired) {
  ASSERT_EQ(account_.reserve(0, 900), Admission::kGranted);
  page().slots[0].lanes[0].seq = page().slots[0].lanes[0].done = UINT64_MAX;
  EXPECT_EQ(ledger_.reap(0, 0)->outcome, ReapOutcome::kRetired);
  EXPECT_EQ(snapshot().slots[0].phase, Phase::kRetired);
  EXPECT_EQ(ledger_.reap(0, 0)->outcome, ReapOutcome::kAlreadyFree);
  // Its bytes stay counted, against its own tenant.
  Account next;
  mustAttach(dir(), next);
  EXPECT_EQ(next.reserve(0, 101), Admission::kOverLimit);
  EXPECT_EQ(next.reserve(0, 100), Admission::kGranted);
}

// F15. The tenant cuts its file while the agent works on it: SIGBUS for whoever dereferences it.
TEST_F(HostileTest, TruncatedUnderAgent_F15IsCorruptError) {
  if (const char* why = whyNoTruncation()) GTEST_SKIP() << why;
  ASSERT_EQ(account_.reserve(0, 900), Admission::kGranted);
  ASSERT_EQ(truncate((dir() / "report").c_str(), 0), 0);
  EXPECT_EQ(snapshot().suspicions & 1u, static_cast<std::uint32_t>(Inconsistency::kTruncated));
  EXPECT_EQ(ledger_.reap(0, 0).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.claimedBy(0, 0, 1).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.adoptSlot(0, 0, 1).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.setMemory(0, {1}, {1}).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.ensureFreeSlots(1).error().code(), ErrorCode::kCorrupt);
  ASSERT_EQ(truncate((dir() / "control").c_str(), 0), 0);
  EXPECT_EQ(ledger_.setMemory(0, {1}, {2}).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.setCores(0, 1, 2).error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ledger_.nextAgentEpoch().error().code(), ErrorCode::kCorrupt);
}

TEST_F(HostileTest, TruncatedWhileThreadsRead_F15NoCrash) {
  if (const char* why = whyNoTruncation()) GTEST_SKIP() << why;
  std::atomic<bool> stop{false};
  std::thread tenant([&] {
    const std::string path = dir() / "report";
    while (!stop.load()) {
      (void)!truncate(path.c_str(), 4096);
      (void)!truncate(path.c_str(), sizeof(ReportPage));
    }
  });
  std::vector<TenantLedger> ledgers;
  for (int i = 0; i < 3; ++i) {
    Result<TenantLedger> one = TenantLedger::adopt(dir());
    if (one) ledgers.push_back(std::move(one).value());
  }
  std::vector<std::thread> readers;
  for (TenantLedger& ledger : ledgers) {
    readers.emplace_back([&] {
      for (unsigned i = 0; i < 2000 / kSlowdown; ++i) {
        EXPECT_TRUE(ledger.readReport());
        (void)ledger.reap(i % kSlotChunk, 0).has_value();
        (void)ledger.adoptSlot(1, 0, 1).has_value();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop.store(true);
  tenant.join();
}

// The guard is no amnesty: outside of it SIGBUS ends the process as ever.
TEST_F(HostileTest, UnguardedSigbus_KillsProcess) {
  ASSERT_EQ(ledger_.reap(0, 7)->outcome, ReapOutcome::kAlreadyFree);  // installs the handler
  const pid_t victim = spawn([&]() -> int {
    (void)!truncate((dir() / "report").c_str(), 0);
    return static_cast<int>(loadAcquire(page().header.fault_head));
  });
  const int status = waitFor(victim);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_NE(status, 0);  // the sanitizer reports it and exits by itself
#else
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGBUS);
#endif
}

}  // namespace
}  // namespace divvy::ledger
