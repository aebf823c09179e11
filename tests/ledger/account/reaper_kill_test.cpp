// S3: the agent may be killed at any instruction of its own clean-up. Whoever comes next finishes
// it, and every byte is refunded exactly once.
#include <cstring>
#include <random>

#include "stepper.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

constexpr std::uint64_t kCeiling = 10000;
constexpr std::uint64_t kOwn = 40;
constexpr unsigned kDevices = 2;

class ReaperKillTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* why = whyNoStepping()) GTEST_SKIP() << why;
    ledger_.emplace(mustCreate(private_.path() / "t", specWith(kCeiling, kDevices)));
    mustAttach(private_.path() / "t", bystander_);
    for (unsigned dev = 0; dev < kDevices; ++dev) {
      ASSERT_EQ(bystander_.reserve(dev, kOwn), Admission::kGranted);
    }
  }

  ReportPage& page() { return bystander_.pages().report(); }
  static constexpr std::size_t kPageBytes = offsetof(ReportPage, slots) + kSlotChunk * sizeof(Slot);

  std::vector<char> savePage() {
    const char* bytes = reinterpret_cast<const char*>(&page());
    return {bytes, bytes + kPageBytes};
  }
  void restorePage(const std::vector<char>& saved) {
    std::memcpy(static_cast<void*>(&page()), saved.data(), saved.size());
  }

  // A process with bytes in use and spare on both devices, cut off in the middle of `operation`.
  Steps victim(std::function<void(Account&)> operation) {
    return {[this] {
              for (unsigned dev = 0; dev < kDevices; ++dev) {
                bystander_.reserve(dev, 100);
                bystander_.release(dev, 30);
              }
            },
            [this, operation] { operation(bystander_); }};
  }

  SlotSnapshot slotOf(pid_t pid) {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    for (const SlotSnapshot& slot : seen->slots) {
      if (slot.owner.pid == static_cast<std::uint32_t>(pid)) return slot;
    }
    ADD_FAILURE() << "the dead process has no slot";
    return {};
  }

  void expectHealed() {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
    ASSERT_EQ(seen->slots.size(), 1u);
    for (unsigned dev = 0; dev < kDevices; ++dev) {
      EXPECT_EQ(seen->devices[dev].total.count, kOwn);
      ASSERT_EQ(bystander_.reserve(dev, kCeiling - kOwn), Admission::kGranted);
      EXPECT_EQ(bystander_.reserve(dev, 1), Admission::kOverLimit);
      bystander_.release(dev, kCeiling - kOwn);
    }
  }

  Steps janitor(const SlotSnapshot& dead) {
    return {[] {}, [this, dead] { (void)ledger_->reap(dead.slot, dead.generation).has_value(); }};
  }

  void finishReaping(const SlotSnapshot& dead) {
    const Result<ReapResult> reaped = ledger_->reap(dead.slot, dead.generation);
    ASSERT_TRUE(reaped) << reaped.error().message();
    EXPECT_NE(reaped->outcome, ReapOutcome::kRetired);
    EXPECT_EQ(ledger_->reap(dead.slot, dead.generation)->outcome, ReapOutcome::kAlreadyFree);
  }

  void killJanitorEverywhere(const SlotSnapshot& dead) {
    const std::vector<char> before = savePage();
    const std::vector<std::uintptr_t> trace = traceOf(janitor(dead));
    std::printf("clean-up: %zu instructions\n", trace.size());
    for (std::size_t k = 0; k < trace.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "clean-up killed before instruction " << k);
      restorePage(before);
      {
        Stepped child(janitor(dead));
        runToStep(child, trace, k);
        ASSERT_EQ(child.instruction(), trace[k]);
      }
      // Its tags are overwritten before the next one comes.
      if (k % 2 == 0) {
        EXPECT_EQ(bystander_.reserve(0, 7), Admission::kGranted);
        bystander_.release(0, 7);
      }
      finishReaping(dead);
      expectHealed();
      if (HasFailure()) return;
    }
    killTwoJanitors(dead, before, trace);
  }

  // The second one stands at other instructions than the first whenever the first had done some of
  // the work, so it is stepped and not sent to an address.
  void killTwoJanitors(const SlotSnapshot& dead, const std::vector<char>& before,
                       const std::vector<std::uintptr_t>& trace) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
      const std::size_t first = random() % trace.size();
      const std::size_t second = random() % 400;
      SCOPED_TRACE(testing::Message() << "killed at " << first << " and " << second);
      restorePage(before);
      {
        Stepped child(janitor(dead));
        runToStep(child, trace, first);
      }
      {
        Stepped child(janitor(dead));
        for (std::size_t i = 0; i < second && child.step(); ++i) {
        }
      }
      finishReaping(dead);
      expectHealed();
      if (HasFailure()) return;
    }
  }

  // Kills a victim at the first instruction at which its pending operation has, or has not,
  // committed, and then its janitor everywhere.
  void run(const std::function<void(Account&)>& operation, bool committed) {
    const Steps steps = victim(operation);
    const std::uint64_t admitted = page().devices[0].total.low;
    const std::vector<char> clean = savePage();
    const std::size_t length = traceOf(steps).size();
    restorePage(clean);
    Stepped child(steps);
    for (std::size_t k = 0; k < length; ++k) {
      const SlotSnapshot now = slotOf(child.pid());
      const Slot& slot = page().slots[now.slot];
      // admit and refund move the total, keep moves the spare word: look where it happens.
      const bool moved = page().devices[0].total.low != admitted + 100 || spareOf(slot) != 30;
      if (now.operation_pending && moved == committed) break;
      ASSERT_TRUE(child.step());
    }
    const SlotSnapshot dead = slotOf(child.pid());
    ASSERT_TRUE(dead.operation_pending);
    child.kill();
    killJanitorEverywhere(dead);
  }

  static std::uint64_t spareOf(const Slot& slot) {
    std::uint64_t sum = 0;
    for (const Lane& lane : slot.lanes) sum += lane.spare[0].low;
    return sum;
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account bystander_;
};

TEST_F(ReaperKillTest, KillAfterCommittedAdmission_S3RefundsOnce) {
  run([](Account& account) { account.reserve(0, 500); }, true);
}

TEST_F(ReaperKillTest, KillBeforeAdmissionCommits_S3RefundsOnce) {
  run([](Account& account) { account.reserve(0, 500); }, false);
}

TEST_F(ReaperKillTest, KillAfterCommittedKeep_S3RefundsOnce) {
  run([](Account& account) { account.release(0, 25); }, true);
}

TEST_F(ReaperKillTest, KillAfterCommittedSpend_S3RefundsOnce) {
  run([](Account& account) { account.reserve(0, 30); }, true);
}

}  // namespace
}  // namespace divvy::ledger
