// S1 and S3: a process that is killed at any instruction of the ledger loses nothing and blocks
// nobody, and neither does the agent that cleans up after it.
#include <signal.h>

#include "stepper.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

// What the bystander, who shares the tenant with the victim, does once the victim is dead and not
// yet cleaned up: nothing, or operations that overwrite the victim's tag in the total and in its
// spare word, so that the clean-up must rely on what the overwriter wrote down.
enum class Bystander { kIdle, kOverwrites };

struct Scenario {
  const char* name;
  std::uint64_t ceiling;
  std::function<void(Account&)> prepare;
  std::function<void(Account&)> operation;
};

class KillTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kOwn = 40;  // what the bystander holds all the time

  void SetUp() override {
    if (const char* why = whyNoStepping()) GTEST_SKIP() << why;
  }

  void begin(std::uint64_t ceiling, unsigned devices = 1) {
    ledger_.emplace(mustCreate(private_.path() / "t", specWith(ceiling, devices)));
    mustAttach(private_.path() / "t", bystander_);
    ceiling_ = ceiling;
    for (unsigned dev = 0; dev < devices; ++dev) {
      ASSERT_EQ(bystander_.reserve(dev, kOwn), Admission::kGranted);
    }
  }

  Steps victim(const Scenario& scenario) {
    return {[this, &scenario] { scenario.prepare(bystander_); },
            [this, &scenario] { scenario.operation(bystander_); }};
  }

  // The slot of a process as the agent sees it; kMaxSlots when it has none.
  SlotSnapshot slotOf(pid_t pid) {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    EXPECT_TRUE(seen);
    for (const SlotSnapshot& slot : seen->slots) {
      if (slot.owner.pid == static_cast<std::uint32_t>(pid)) return slot;
    }
    SlotSnapshot none;
    none.slot = kMaxSlots;
    return none;
  }

  void overwriteTags() {
    EXPECT_EQ(bystander_.reserve(0, 1), Admission::kGranted);
    // Refused, and on the way there every spare byte of the dead process is taken back.
    EXPECT_EQ(bystander_.reserve(0, ceiling_), Admission::kOverLimit);
    bystander_.release(0, 1);
  }

  // Nothing of the dead is left, and the bystander can have every byte that is not its own.
  void expectHealed() {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
    ASSERT_EQ(seen->slots.size(), 1u);
    for (unsigned dev = 0; dev < seen->devices.size(); ++dev) {
      EXPECT_EQ(seen->devices[dev].total.count, kOwn);
      EXPECT_EQ(seen->slots[0].used[dev].count, kOwn);
    }
    ASSERT_EQ(bystander_.reserve(0, ceiling_ - kOwn), Admission::kGranted);
    EXPECT_EQ(bystander_.reserve(0, 1), Admission::kOverLimit);
    bystander_.release(0, ceiling_ - kOwn);
  }

  void reap(const SlotSnapshot& dead) {
    if (dead.slot == kMaxSlots) return;
    const Result<ReapResult> reaped = ledger_->reap(dead.slot, dead.generation);
    ASSERT_TRUE(reaped) << reaped.error().message();
    EXPECT_EQ(reaped->outcome, ReapOutcome::kFreed);
  }

  void killEverywhere(const Scenario& scenario, std::initializer_list<Bystander> bystanders = {
                                                    Bystander::kIdle, Bystander::kOverwrites}) {
    begin(scenario.ceiling);
    const Steps steps = victim(scenario);
    const std::vector<std::uintptr_t> trace = traceOf(steps);
    reapAllDead();
    std::printf("%s: %zu instructions\n", scenario.name, trace.size());
    for (const Bystander bystander : bystanders) {
      for (std::size_t k = 0; k < trace.size() && !HasFailure(); ++k) {
        SCOPED_TRACE(testing::Message() << scenario.name << ", killed before instruction " << k);
        killAt(steps, trace, k, bystander);
      }
    }
  }

  void killAt(const Steps& steps, const std::vector<std::uintptr_t>& trace, std::size_t k,
              Bystander bystander) {
    Stepped child(steps);
    runToStep(child, trace, k);
    ASSERT_EQ(child.instruction(), trace[k]);
    const pid_t pid = child.pid();
    child.kill();
    if (bystander == Bystander::kOverwrites) overwriteTags();
    EXPECT_LE(bystander_.pages().report().devices[0].total.low, ceiling_);
    reap(slotOf(pid));
    expectHealed();
  }

  void reapAllDead() {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    for (const SlotSnapshot& slot : seen->slots) {
      if (!ownerAlive(slot.owner)) reap(slot);
    }
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account bystander_;  // and, in a forked child, the victim's own: the child starts over
  std::uint64_t ceiling_ = 0;
};

// A roomy ceiling, so that released bytes are kept as spare; kTight leaves no room for that.
constexpr std::uint64_t kRoomy = 10000;
constexpr std::uint64_t kTight = 100;

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfTheFirstReserve) {
  killEverywhere({"claim and admit", kRoomy, [](Account&) {},
                  [](Account& account) { account.reserve(0, 60); }},
                 {Bystander::kIdle});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReserve) {
  killEverywhere({"admit", kRoomy, [](Account& account) { account.reserve(0, 20); },
                  [](Account& account) { account.reserve(0, 60); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReleaseToTheTotal) {
  killEverywhere({"refund", kTight, [](Account& account) { account.reserve(0, 58); },
                  [](Account& account) { account.release(0, 58); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReleaseToSpare) {
  killEverywhere({"keep", kRoomy, [](Account& account) { account.reserve(0, 60); },
                  [](Account& account) { account.release(0, 60); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReserveFromSpare) {
  killEverywhere({"spend", kRoomy,
                  [](Account& account) {
                    account.reserve(0, 60);
                    account.release(0, 60);
                  },
                  [](Account& account) { account.reserve(0, 30); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReserveThatTakesSpareBack) {
  killEverywhere({"reclaim", 1600,
                  [](Account& account) {
                    account.reserve(0, 100);
                    account.release(0, 100);
                  },
                  [](Account& account) { account.reserve(0, 1555); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfARefusedReserve) {
  killEverywhere({"refused", kTight, [](Account& account) { account.reserve(0, 50); },
                  [](Account& account) { account.reserve(0, 50); }});
}

TEST_F(KillTest, Requirement_S1_KillAtEveryInstructionOfReleasingTooMuch) {
  killEverywhere({"over-release", kTight, [](Account& account) { account.reserve(0, 30); },
                  [](Account& account) { account.release(0, 31); }});
}

}  // namespace
}  // namespace divvy::ledger
