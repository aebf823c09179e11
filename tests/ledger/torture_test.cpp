// S1, S3: eight processes at work, one after the other killed at a random moment or stopped for a
// while, the agent cleaning up beside the living.
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kProcesses = 8;
constexpr std::uint64_t kCeiling = 4 << 20;

struct Worker {
  std::atomic<std::uint64_t> operations;
  std::atomic<std::uint64_t> card;  // what this process' blocks on the card amount to
};

struct Board {
  std::array<Worker, kProcesses> workers;
};

class RandomKillTest : public testing::Test {
 protected:
  void SetUp() override {
    board_ = static_cast<Board*>(
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    new (board_) Board{};
    ledger_.emplace(mustCreate(private_.path() / "t", specWith(kCeiling)));
    mustAttach(private_.path() / "t", account_);
    for (unsigned i = 0; i < kProcesses; ++i) start(i);
  }
  void TearDown() override {
    for (const pid_t pid : pids_) {
      if (pid > 0) endOf(pid);
    }
    munmap(board_, sizeof(Board));
  }

  void start(unsigned i) {
    board_->workers[i].operations.store(0);
    board_->workers[i].card.store(0);
    const unsigned seed = ++starts_;
    pids_[i] = spawn([this, i, seed]() -> int { work(board_->workers[i], seed); });
  }

  [[noreturn]] void work(Worker& worker, unsigned seed) {
    std::mt19937 random(seed);
    std::array<std::uint64_t, 6> held{};
    for (;;) {
      std::uint64_t& block = held[random() % held.size()];
      if (block != 0) {
        worker.card.fetch_sub(block);
        account_.release(0, block);
        block = 0;
      } else {
        const std::uint64_t bytes = 1 + random() % (kCeiling / 20);
        if (account_.reserve(0, bytes) == Admission::kGranted) {
          worker.card.fetch_add(bytes);
          block = bytes;
        }
      }
      // Eight of these share two cores: none keeps one for its whole time slice.
      if (worker.operations.fetch_add(1) % 64 == 0) std::this_thread::yield();
    }
  }

  void endOf(pid_t pid) {
    kill(pid, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(waitFor(pid)));
  }

  // Waits until the worker has done `more` operations from now; false after 20 s.
  bool progress(unsigned i, std::uint64_t more) {
    const std::uint64_t goal = board_->workers[i].operations.load() + more;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (board_->workers[i].operations.load() < goal) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::optional<SlotSnapshot> slotOf(pid_t pid) {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    for (const SlotSnapshot& slot : seen->slots) {
      if (slot.owner.pid == static_cast<std::uint32_t>(pid)) return slot;
    }
    return std::nullopt;
  }

  void killAndReap(unsigned i) {
    const pid_t pid = std::exchange(pids_[i], -1);
    endOf(pid);
    const std::optional<SlotSnapshot> dead = slotOf(pid);
    if (!dead) return;  // it died before it had claimed a slot
    // What was on the card was counted: in use, or in the operation that was cut off.
    if (!dead->operation_pending) {
      EXPECT_GE(dead->used[0].count, board_->workers[i].card.load());
    }
    const Result<ReapResult> reaped = ledger_->reap(dead->slot, dead->generation);
    ASSERT_TRUE(reaped) << reaped.error().message();
    EXPECT_EQ(reaped->outcome, ReapOutcome::kFreed);
    EXPECT_GE(reaped->refunded[0].count, board_->workers[i].card.load());
  }

  void expectUnderCeiling() { EXPECT_LE(account_.pages().report().devices[0].total.low, kCeiling); }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account account_;
  Board* board_ = nullptr;
  std::array<pid_t, kProcesses> pids_{};
  unsigned starts_ = 0;
};

TEST_F(RandomKillTest, RandomKills_S3LoseNothing) {
  std::mt19937 random(4711);
  for (unsigned round = 0; round < 1500 / kSlowdown && !HasFailure(); ++round) {
    const auto i = static_cast<unsigned>(random() % kProcesses);
    ASSERT_TRUE(progress(i, random() % 200)) << "worker " << i << " stands still";
    killAndReap(i);
    expectUnderCeiling();
    start(i);
  }
  for (unsigned i = 0; i < kProcesses; ++i) killAndReap(i);
  const Result<ReportSnapshot> seen = ledger_->readReport();
  EXPECT_EQ(seen->devices[0].admitted.count, 0u);
  EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
  EXPECT_EQ(account_.reserve(0, kCeiling), Admission::kGranted);
}

TEST_F(RandomKillTest, StoppedProcess_S1BlocksNoOther) {
  std::mt19937 random(42);
  for (unsigned round = 0; round < 200 / kSlowdown && !HasFailure(); ++round) {
    const auto i = static_cast<unsigned>(random() % kProcesses);
    ASSERT_TRUE(progress(i, random() % 50));
    kill(pids_[i], SIGSTOP);
    for (unsigned other = 0; other < kProcesses; ++other) {
      if (other == i) continue;
      EXPECT_TRUE(progress(other, 50)) << "worker " << other << " is blocked";
    }
    expectUnderCeiling();
    kill(pids_[i], SIGCONT);
  }
}

}  // namespace
}  // namespace divvy::ledger
