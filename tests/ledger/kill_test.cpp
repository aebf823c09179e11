// S1 and S3: a process that is killed at any instruction of the ledger loses nothing and blocks
// nobody, and neither does the agent that cleans up after it.
#include <signal.h>

#include <cstring>

#include "stepper.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

// What happens to the victim at an instruction, and what the bystander, who shares the tenant with
// it, does then.
enum class Blow {
  kStopped,     // it stands still, the bystander works on, it goes on and is killed later
  kKilled,      // it is killed, the bystander is idle
  kFenced,      // the agent changes the limits, which fences every word, and it is killed
  kOverwritten  // it is killed, and before the agent comes the bystander overwrites the victim's
                // tags, so that the clean-up must rely on what the overwriter wrote down
};

struct Scenario {
  const char* name;
  std::uint64_t ceiling;
  std::uint64_t used_after;  // by the victim, when nothing interrupts it
  std::function<void(Account&)> prepare;
  std::function<void(Account&)> operation;
  // The first reserve reads /proc, whose texts vary in length: there k is an instruction more or
  // less.
  bool repeatable = true;
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
    const char* bytes = reinterpret_cast<const char*>(&bystander_.pages().report());
    start_.assign(bytes, bytes + offsetof(ReportPage, slots) + kSlotChunk * sizeof(Slot));
  }

  // The page as it was when nobody but the bystander had been there: whom a victim must help, and
  // so the instructions it executes, depends on what happened before.
  void startAgain() {
    std::memcpy(static_cast<void*>(&bystander_.pages().report()), start_.data(), start_.size());
  }

  std::vector<std::uintptr_t> traceFromStart(const Steps& steps) {
    startAgain();
    std::vector<std::uintptr_t> trace = traceOf(steps);
    startAgain();
    return trace;
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

  void strikeEverywhere(const Scenario& scenario,
                        std::initializer_list<Blow> blows = {Blow::kStopped, Blow::kKilled,
                                                             Blow::kFenced, Blow::kOverwritten}) {
    begin(scenario.ceiling);
    const Steps steps = victim(scenario);
    const std::vector<std::uintptr_t> trace = traceFromStart(steps);
    std::printf("%s: %zu instructions\n", scenario.name, trace.size());
    for (const Blow blow : blows) {
      for (std::size_t k = 0; k < trace.size() && !HasFailure(); ++k) {
        SCOPED_TRACE(testing::Message() << scenario.name << ", before instruction " << k
                                        << ", blow " << static_cast<int>(blow));
        startAgain();
        Stepped child(steps);
        runToStep(child, trace, k);
        ASSERT_TRUE(!scenario.repeatable || child.instruction() == trace[k]);
        if (blow == Blow::kStopped) goOnAfterwards(child, scenario.used_after);
        const pid_t pid = child.pid();
        if (blow == Blow::kFenced) {
          ASSERT_TRUE(ledger_->setMemory(0, {}, {1}));
          ASSERT_TRUE(ledger_->setMemory(0, {}, {ceiling_}));
        }
        child.kill();
        if (blow == Blow::kOverwritten) overwriteTags();
        EXPECT_LE(bystander_.pages().report().devices[0].total.low, ceiling_);
        reap(slotOf(pid));
        expectHealed();
      }
    }
  }

  // A process that stands still holds up nobody, and goes on as if nothing had been.
  void goOnAfterwards(Stepped& child, std::uint64_t used_after) {
    overwriteTags();
    child.finish();
    EXPECT_EQ(slotOf(child.pid()).used[0].count, used_after);
    EXPECT_EQ(bystander_.total(0), kOwn + used_after);
  }

  // The first instruction at which the victim's operation has committed and is not finished.
  std::size_t firstCommitted(const Steps& steps, std::size_t length) {
    Stepped child(steps);
    const std::vector<std::uint64_t> before = movable();
    for (std::size_t k = 0; k < length; ++k, child.step()) {
      if (slotOf(child.pid()).operation_pending && movable() != before) return k;
    }
    ADD_FAILURE() << "never pending and committed";
    return 0;
  }

  // Every word that an operation can commit to.
  std::vector<std::uint64_t> movable() {
    const ReportPage& page = bystander_.pages().report();
    std::vector<std::uint64_t> words{page.devices[0].total.high};
    for (unsigned slot = 0; slot < kSlotChunk; ++slot) {
      for (const Lane& lane : page.slots[slot].lanes) words.push_back(lane.spare[0].high);
    }
    return words;
  }

  // The victim stands between commit and end, another process overwrites its tag and is killed at
  // any instruction of that, then the victim is killed too.
  void strikeHelperEverywhere(const Scenario& scenario, const Scenario& helping) {
    begin(scenario.ceiling);
    const Steps steps = victim(scenario);
    const std::vector<std::uintptr_t> trace = traceFromStart(steps);
    const std::size_t committed = firstCommitted(steps, trace.size());
    startAgain();
    const Steps helper_steps = victim(helping);
    std::vector<std::uintptr_t> helper_trace;
    {
      Stepped child(steps);
      runToStep(child, trace, committed);
      helper_trace = traceOf(helper_steps);
    }
    for (std::size_t k = 0; k < helper_trace.size() && !HasFailure(); ++k) {
      SCOPED_TRACE(testing::Message() << "helper killed before instruction " << k);
      startAgain();
      {
        Stepped child(steps);
        runToStep(child, trace, committed);
        Stepped helper(helper_steps);
        runToStep(helper, helper_trace, k);
      }
      reapAllDead();
      expectHealed();
    }
  }

  void reapAllDead() {
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    for (const SlotSnapshot& slot : seen->slots) {
      if (slot.slot != bystander_.slot()) reap(slot);
    }
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account bystander_;  // and, in a forked child, the victim's own: the child starts over
  std::uint64_t ceiling_ = 0;
  std::vector<char> start_;
};

// A roomy ceiling, so that released bytes are kept as spare; kTight leaves no room for that.
constexpr std::uint64_t kRoomy = 10000;
constexpr std::uint64_t kTight = 100;

TEST_F(KillTest, KillAtEveryInstructionOfFirstReserve_S1Holds) {
  strikeEverywhere({"claim and admit", kRoomy, 60, [](Account&) {},
                    [](Account& account) { account.reserve(0, 60); }, false},
                   {Blow::kKilled});
}

TEST_F(KillTest, KillAtEveryInstructionOfReserve_S1Holds) {
  strikeEverywhere({"admit", kRoomy, 80, [](Account& account) { account.reserve(0, 20); },
                    [](Account& account) { account.reserve(0, 60); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfReleaseToTotal_S1Holds) {
  strikeEverywhere({"refund", kTight, 0, [](Account& account) { account.reserve(0, 58); },
                    [](Account& account) { account.release(0, 58); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfReleaseToCache_S1Holds) {
  strikeEverywhere({"keep", kRoomy, 0, [](Account& account) { account.reserve(0, 60); },
                    [](Account& account) { account.release(0, 60); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfReserveFromCache_S1Holds) {
  strikeEverywhere({"spend", kRoomy, 30,
                    [](Account& account) {
                      account.reserve(0, 60);
                      account.release(0, 60);
                    },
                    [](Account& account) { account.reserve(0, 30); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfCacheReclaim_S1Holds) {
  strikeEverywhere({"reclaim", 1600, 1555,
                    [](Account& account) {
                      account.reserve(0, 100);
                      account.release(0, 100);
                    },
                    [](Account& account) { account.reserve(0, 1555); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfRefusedReserve_S1Holds) {
  strikeEverywhere({"refused", kTight, 50, [](Account& account) { account.reserve(0, 50); },
                    [](Account& account) { account.reserve(0, 50); }});
}

TEST_F(KillTest, KillAtEveryInstructionOfOverRelease_S1Holds) {
  strikeEverywhere({"over-release", kTight, 0, [](Account& account) { account.reserve(0, 30); },
                    [](Account& account) { account.release(0, 31); }});
}

TEST_F(KillTest, KillTotalTagOverwriterAnywhere_S1Holds) {
  const auto nothing = [](Account&) {};
  strikeHelperEverywhere(
      {"admit", kRoomy, 60, nothing, [](Account& account) { account.reserve(0, 60); }},
      {"admit over it", kRoomy, 50, nothing, [](Account& account) { account.reserve(0, 50); }});
}

TEST_F(KillTest, KillCacheTagOverwriterAnywhere_S1Holds) {
  strikeHelperEverywhere({"keep", 1600, 0, [](Account& account) { account.reserve(0, 90); },
                          [](Account& account) { account.release(0, 90); }},
                         {"take it", 1600, 1550, [](Account& account) { account.claim(); },
                          [](Account& account) { account.reserve(0, 1550); }});
}

// A reservation that read the old ceiling and was then stopped must not be granted by it after the
// agent has said that the new one holds. `used_before` is what the victim has anyway.
TEST_F(KillTest, StoppedReserveAndShrink_ShrinkHolds) {
  begin(kRoomy);
  const Scenario scenarios[] = {
      {"admit", kRoomy, 20, [](Account& account) { account.reserve(0, 20); },
       [](Account& account) { account.reserve(0, 60); }},
      {"spend", kRoomy, 20,
       [](Account& account) {
         account.reserve(0, 80);
         account.release(0, 60);
       },
       [](Account& account) { account.reserve(0, 60); }}};
  for (const Scenario& scenario : scenarios) {
    const Steps steps = victim(scenario);
    const std::vector<std::uintptr_t> trace = traceFromStart(steps);
    for (std::size_t k = 0; k < trace.size() && !HasFailure(); ++k) {
      SCOPED_TRACE(testing::Message() << scenario.name << ", stopped before instruction " << k);
      startAgain();
      Stepped child(steps);
      runToStep(child, trace, k);
      const bool committed = bystander_.total(0) == kOwn + 80;
      ASSERT_TRUE(ledger_->setMemory(0, {}, {kOwn + 70}));
      child.finish();
      EXPECT_EQ(slotOf(child.pid()).used[0].count, committed ? 80u : 20u);
      ASSERT_TRUE(ledger_->setMemory(0, {}, {kRoomy}));
      const SlotSnapshot dead = slotOf(child.pid());
      child.kill();
      reap(dead);
      expectHealed();
    }
  }
}

}  // namespace
}  // namespace divvy::ledger
