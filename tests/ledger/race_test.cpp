// S2: many processes and threads at once. The truth is a counter beside the ledger that is raised
// after a grant and lowered before the release, as a card's memory would be.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

constexpr std::uint64_t kUnit = 1 << 20;

struct Shared {
  std::atomic<unsigned> ready;
  std::atomic<bool> go;
  std::atomic<std::uint64_t> card;     // bytes in real use
  std::atomic<std::uint64_t> highest;  // of card, ever
  std::atomic<std::uint64_t> reserves;
  std::atomic<std::uint64_t> grants;
  std::atomic<std::uint64_t> over;  // times that the truth was above the ceiling
  std::atomic<bool> stop;

  void add(std::uint64_t bytes, std::uint64_t ceiling) {
    const std::uint64_t now = card.fetch_add(bytes) + bytes;
    if (now > ceiling) over.fetch_add(1);
    std::uint64_t before = highest.load();
    while (before < now && !highest.compare_exchange_weak(before, now)) {
    }
  }
  void remove(std::uint64_t bytes) { card.fetch_sub(bytes); }
};

class RaceTest : public testing::Test {
 protected:
  RaceTest() {
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    new (shared_) Shared{};
  }
  ~RaceTest() override { munmap(shared_, sizeof(Shared)); }

  void begin(std::uint64_t ceiling) {
    ceiling_ = ceiling;
    TenantSpec spec = specWith(ceiling);
    spec.slots = 2 * kSlotChunk;
    ledger_.emplace(mustCreate(private_.path() / "t", spec));
    mustAttach(private_.path() / "t", account_);
  }

  void awaitGo() {
    shared_->ready.fetch_add(1);
    while (!shared_->go.load()) std::this_thread::yield();
  }

  // Releases everybody at once and watches the admitted total until all have ended.
  void watch(const std::vector<pid_t>& children) {
    while (shared_->ready.load() < children.size()) std::this_thread::yield();
    std::thread observer([&] {
      const std::uint64_t& total = account_.pages().report().devices[0].total.low;
      while (!shared_->stop.load()) {
        if (loadAcquire(total) > ceiling_) shared_->over.fetch_add(1);
        std::this_thread::yield();
      }
    });
    shared_->go.store(true);
    for (const pid_t child : children) EXPECT_EQ(waitFor(child), 0);
    shared_->stop.store(true);
    observer.join();
  }

  void reapEverybody() {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
    for (const SlotSnapshot& slot : seen->slots) {
      EXPECT_FALSE(slot.operation_pending);
      ASSERT_EQ(ledger_->reap(slot.slot, slot.generation)->outcome, ReapOutcome::kFreed);
    }
    EXPECT_EQ(ledger_->readReport()->devices[0].admitted.count, 0u);
  }

  // One process: random sizes, a few blocks at a time, in random order of release.
  int churn(unsigned seed, unsigned reserves) {
    std::mt19937 random(seed);
    std::array<std::uint64_t, 4> held{};
    awaitGo();
    for (unsigned i = 0; i < reserves; ++i) {
      std::uint64_t& block = held[random() % held.size()];
      drop(block);
      const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 8 * kUnit : kUnit / 16);
      if (account_.reserve(0, bytes) == Admission::kGranted) {
        shared_->add(bytes, ceiling_);
        shared_->grants.fetch_add(1, std::memory_order_relaxed);
        block = bytes;
      }
    }
    shared_->reserves.fetch_add(reserves);
    for (std::uint64_t& block : held) drop(block);
    return 0;
  }

  void drop(std::uint64_t& block) {
    if (block == 0) return;
    shared_->remove(block);
    account_.release(0, block);
    block = 0;
  }

  void race(unsigned processes, unsigned reserves_each) {
    std::vector<pid_t> children;
    for (unsigned i = 0; i < processes; ++i) {
      children.push_back(spawn([&] { return churn(i, reserves_each); }));
    }
    watch(children);
    EXPECT_EQ(shared_->over.load(), 0u);
    EXPECT_EQ(shared_->reserves.load(), std::uint64_t{processes} * reserves_each);
    EXPECT_EQ(account_.total(0), 0u);
    std::printf("%u processes, %llu reserves, %llu granted, most in use %llu of %llu bytes\n",
                processes, static_cast<unsigned long long>(shared_->reserves.load()),
                static_cast<unsigned long long>(shared_->grants.load()),
                static_cast<unsigned long long>(shared_->highest.load()),
                static_cast<unsigned long long>(ceiling_));
    reapEverybody();
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account account_;
  Shared* shared_ = nullptr;
  std::uint64_t ceiling_ = 0;
};

constexpr unsigned kAllReserves = 1'000'000 / kSlowdown;

TEST_F(RaceTest, SixtyFourProcesses_S2NeverPassCeiling) {
  begin(12 * kUnit);
  race(64, kAllReserves / 64 + 1);
}

TEST_F(RaceTest, FourProcesses_S2NeverPassCeiling) {
  begin(10 * kUnit);
  race(4, kAllReserves / 8);
}

// Nobody is refused while there is room: together they get every unit, whatever order they run in.
TEST_F(RaceTest, SixteenRacers_GetEachByteOfCeiling) {
  constexpr unsigned kProcesses = 16;
  begin(1000 * kUnit);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kProcesses; ++i) {
    children.push_back(spawn([&] {
      awaitGo();
      // Some spare bytes first, which the last units must come from.
      for (unsigned round = 0; round < 20; ++round) {
        if (account_.reserve(0, 3 * kUnit) == Admission::kGranted) account_.release(0, 3 * kUnit);
      }
      while (account_.reserve(0, kUnit) == Admission::kGranted) {
        shared_->add(kUnit, ceiling_);
      }
      return 0;
    }));
  }
  watch(children);
  EXPECT_EQ(shared_->over.load(), 0u);
  EXPECT_EQ(shared_->card.load(), ceiling_);
  reapEverybody();
}

// Threads of one process, each releasing what another reserved.
TEST_F(RaceTest, ThreadsReleasingForEachOther_LoseNothing) {
  constexpr unsigned kThreads = 8;
  begin(32 * kUnit);
  std::array<std::atomic<std::uint64_t>, 64> blocks{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      for (unsigned n = 0; n < kAllReserves / 20; ++n) {
        const std::uint64_t bytes = 1 + random() % kUnit;
        const bool granted = account_.reserve(0, bytes) == Admission::kGranted;
        if (granted) shared_->add(bytes, ceiling_);
        const std::uint64_t old = blocks[random() % blocks.size()].exchange(granted ? bytes : 0);
        if (old == 0) continue;
        shared_->remove(old);
        account_.release(0, old);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& block : blocks) account_.release(0, block.load());
  account_.reserve(0, 1);  // settles what was deferred, if anything was
  account_.release(0, 1);
  EXPECT_EQ(shared_->over.load(), 0u);
  EXPECT_EQ(account_.total(0), 0u);
  const Result<ReportSnapshot> seen = ledger_->readReport();
  EXPECT_EQ(seen->fault_counts[static_cast<unsigned>(FaultCode::kOverRelease)], 0u);
  EXPECT_EQ(seen->fault_counts[static_cast<unsigned>(FaultCode::kLaneBusy)], 0u);
  EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
}

}  // namespace
}  // namespace divvy::ledger
