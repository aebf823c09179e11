// The gate: open, run and hold; what a process shows while it waits; what happens without an agent.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "gate_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;

TEST_F(GateTest, OpenGate_LaunchCountedAndUnmetered) {
  if (outside({.machine = "null"})) return;
  makeReady();
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().launches, 1u);
  EXPECT_EQ(control().metered, 0u);
  EXPECT_FALSE(line().has_value()) << "nobody arbitrates, nothing is shown";
}

TEST_F(GateTest, RunningGrant_MeteredAndShownUntilIdle) {
  if (outside({.machine = "null"})) return;
  makeReady();
  grant(GateState::kRun);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().metered, 1u);
  ASSERT_TRUE(line().has_value());
  EXPECT_TRUE(eventually([] { return line()->launches == 1; }));
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkInFlight) == 0; }));
  EXPECT_TRUE(eventually([] { return line()->changed >= 2; })) << "it grows after the change";
}

TEST_F(GateTest, TenThousandLaunches_EachMeteredOnce) {
  if (outside({.machine = "null"})) return;
  makeReady();
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  grant(GateState::kRun);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().metered, 10'000u);
  EXPECT_EQ(control().launches, 10'001u);
  EXPECT_TRUE(eventually([] { return line()->launches == 10'000; }));
  const std::uint64_t seq = grant(GateState::kHold);
  Launcher launcher;
  EXPECT_TRUE(eventually([&] { return line()->drained_seq == seq; }));
  EXPECT_FALSE(launcher.done());
  EXPECT_EQ(control().metered, 10'000u);
  grant(GateState::kOpen);
  EXPECT_TRUE(launcher.finishes());
  EXPECT_EQ(control().launches, 10'002u);
}

TEST_F(GateTest, Hold_LaunchWaitsAndDoorbellRings) {
  if (outside({.machine = "null"})) return;
  makeReady();
  const std::uint64_t seq = grant(GateState::kHold);
  const std::uint32_t bell = arbiter().bellValue();
  Launcher launcher;
  ASSERT_TRUE(eventually([] { return line() && line()->waiting == 1; }));
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkWaiting) != 0; }));
  EXPECT_TRUE(eventually([&] { return arbiter().bellValue() != bell; }));
  EXPECT_EQ(line()->seen_seq, seq);
  EXPECT_EQ(line()->waits, 1u);
  EXPECT_FALSE(launcher.done());
  grant(GateState::kRun);
  EXPECT_TRUE(launcher.finishes());
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkWaiting) == 0; }));
  EXPECT_EQ(line()->waiting, 0u);
  EXPECT_GT(line()->throttled, 0u);
}

TEST_F(GateTest, OpenWithTwentyWaiters_AllContinue) {
  if (outside({.machine = "null"})) return;
  makeReady();
  grant(GateState::kHold);
  std::vector<std::unique_ptr<Launcher>> launchers;
  for (int i = 0; i < 20; ++i) launchers.push_back(std::make_unique<Launcher>());
  ASSERT_TRUE(eventually([] { return line() && line()->waiting == 20; }));
  grant(GateState::kOpen);
  for (auto& launcher : launchers) EXPECT_TRUE(launcher->finishes());
  EXPECT_EQ(control().metered, 0u) << "the gate stands open";
  EXPECT_EQ(control().launches, 20u);
}

TEST_F(GateTest, IdleProcessUnderHold_NoWorkShown) {
  if (outside({.machine = "null"})) return;
  makeReady();
  grant(GateState::kRun);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkInFlight) == 0; }));
  grant(GateState::kHold);
  EXPECT_EQ(line()->state, 0u);
}

TEST_F(GateTest, AgentSilentForLease_LaunchesUngatedUntilReturn) {
  if (outside({.machine = "null"})) return;
  makeReady();
  terms().lease_ms = 50;
  grant(GateState::kHold);
  Launcher launcher;
  EXPECT_TRUE(launcher.finishes()) << "nobody waits for longer than a lease";
  EXPECT_EQ(control().waits, 1u);
  EXPECT_EQ(control().ungated, 1u);
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkUngated) != 0; }));
  EXPECT_EQ(launch(), CUDA_SUCCESS) << "and everybody after passes at once";
  EXPECT_EQ(faults(28), 1u);

  terms().lease_ms = 60'000;
  arbiter().amend(terms());
  arbiter().beat();
  ASSERT_TRUE(eventually([] { return control().ungated == 0; }));
  EXPECT_EQ(line()->state & ledger::kWorkUngated, 0u);
  Launcher again;
  EXPECT_TRUE(eventually([] { return line()->waiting == 1; }));
  EXPECT_FALSE(again.done());
  grant(GateState::kRun);
  EXPECT_TRUE(again.finishes());
}

TEST_F(GateTest, AgentBeatsDuringLongHold_LaunchStaysHeld) {
  if (outside({.machine = "null"})) return;
  makeReady();
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLease{1500}, kLonger{2500};
  terms().lease_ms = static_cast<std::uint32_t>(kLease.count());
  // A time in which a busy machine kept this thread from beating shows nothing.
  for (int tries = 0; tries < 5; ++tries) {
    arbiter().beat();
    grant(GateState::kHold);
    Launcher launcher;
    Clock::duration silent{0};
    Clock::time_point beat = Clock::now();
    for (const auto begin = beat; beat - begin < kLonger;) {
      arbiter().beat();
      const auto last = std::exchange(beat, Clock::now());
      silent = std::max(silent, beat - last);
      ::poll(nullptr, 0, 5);
    }
    const bool shown = silent < kLease / 2;
    EXPECT_FALSE(shown && launcher.done());
    EXPECT_FALSE(shown && control().ungated != 0);
    grant(GateState::kRun);
    EXPECT_TRUE(launcher.finishes());
    if (shown) return;
    ASSERT_TRUE(eventually([this] {
      arbiter().beat();
      return control().ungated == 0;
    }));
  }
  FAIL() << "this machine stands still all the time";
}

TEST_F(GateTest, FirstMeteredLaunch_OneThreadBlockingSignals) {
  if (outside({.machine = "null"})) return;
  makeReady();
  const auto before = threadNames();
  EXPECT_EQ(before.count("divvy"), 0u) << "no thread before the first launch";
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  grant(GateState::kRun);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return threadNames().count("divvy") == 1; }));
#if !defined(__SANITIZE_THREAD__)  // which has threads of its own that come and go
  EXPECT_EQ(threadNames().size(), before.size() + 1);
#endif
  EXPECT_TRUE(eventually([] { return helperBlocksSignals(); }));
}

// Directories from before the work page have no grants: nothing is waited for.
TEST_F(GateTest, WorkPageMissing_GateStaysOpen) {
  if (outside({.machine = "null"})) return;
  grant(GateState::kHold);
  ASSERT_EQ(::unlink((tenantDir() + "/work").c_str()), 0);
  makeReady();
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().metered, 0u);
}

}  // namespace
}  // namespace divvy::interposer
