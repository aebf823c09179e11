#include "wakeup_limiter.h"

#include <gtest/gtest.h>

#include "arbiter/arbiter_manager.h"
#include "clock.h"
#include "fake_tenant.h"

namespace divvy::arbiter {
namespace {

using ledger::GateState;
using testing::eventually;
using testing::FakeTenant;
using testing::Scratch;

constexpr Nanos kInterval = 2 * kMillisecond;

// Answers whoever rings at these instants.
int answersOf(WakeupLimiter* patience, Nanos from, Nanos to, Nanos every) {
  int answers = 0;
  for (Nanos now = from; now < to; now += every) {
    if (!patience->listens(now)) continue;
    patience->answered(now);
    ++answers;
  }
  return answers;
}

TEST(WakeupLimiter, SeldomRings_AllAnswered) {
  WakeupLimiter patience(kInterval);
  EXPECT_EQ(answersOf(&patience, kSecond, 2 * kSecond, kInterval), 500);
}

TEST(WakeupLimiter, Burst_ThenOncePerInterval) {
  WakeupLimiter patience(kInterval);
  EXPECT_EQ(answersOf(&patience, kSecond, kSecond + WakeupLimiter::kBurst, 1),
            WakeupLimiter::kBurst);
  EXPECT_FALSE(patience.listens(kSecond + WakeupLimiter::kBurst));
  EXPECT_NEAR(answersOf(&patience, kSecond + 100, 3 * kSecond, 10 * kMicrosecond), 1000, 1);
}

TEST(WakeupLimiter, Quiet_RestoresBurst) {
  WakeupLimiter patience(kInterval);
  answersOf(&patience, kSecond, 2 * kSecond, 10 * kMicrosecond);
  const Nanos later = 2 * kSecond + WakeupLimiter::kBurst * kInterval;
  EXPECT_EQ(answersOf(&patience, later, later + WakeupLimiter::kBurst, 1), WakeupLimiter::kBurst);
}

TEST(WakeupLimiter, AskedTenant_OneAnswerIsHeard) {
  WakeupLimiter patience(kInterval);
  answersOf(&patience, kSecond, 2 * kSecond, 10 * kMicrosecond);
  const Nanos now = patience.deafUntil() - kMicrosecond;
  ASSERT_FALSE(patience.listens(now));
  patience.asked(now);
  EXPECT_TRUE(patience.listens(now));
  patience.answered(now);
  EXPECT_FALSE(patience.listens(now + kMicrosecond));
}

// Bounds that hold however fast or slow the machine is.
class WakeupLimiterTest : public ::testing::Test {
 protected:
  void add(FakeTenant& tenant) {
    arbiters_.add(tenant.id(), tenant.dir(), {}, {0});
    tenant.claim();
    arbiters_.addProcess(tenant.id(), 0, 0);
  }

  Scratch scratch_;
  FakeTenant ringer_{scratch_, "ringer"};
  FakeTenant other_{scratch_, "other"};
  Settings settings_;
  ArbiterManager arbiters_{settings_};
};

TEST_F(WakeupLimiterTest, ManyRings_WakeupsAreBounded) {
  add(ringer_);
  add(other_);
  ringer_.setState(ledger::kWorkWaiting);
  ASSERT_TRUE(eventually([&] { return ringer_.gate() == GateState::kRun; }));
  const Nanos began = clockNow();
  const std::uint64_t before = arbiters_.wakeups();
  constexpr unsigned kRings = 20'000;
  for (unsigned i = 0; i < kRings; ++i) ringer_.ring();
  const std::uint64_t wakes = arbiters_.wakeups() - before;
  const Nanos passed = clockNow() - began;
  // Beats, windows of figures, ends of turns.
  const Nanos others = 10 + 20 * passed / settings_.constants.quantum;
  const Nanos intervals = 2 * passed / (settings_.constants.quantum / 5);
  EXPECT_LE(static_cast<Nanos>(wakes), WakeupLimiter::kBurst + intervals + others)
      << kRings << " rings";
}

// Nine of ten tenants of a card wait most of the time.
TEST_F(WakeupLimiterTest, RingsWhileHeld_DoNotWake) {
  add(other_);
  other_.setState(ledger::kWorkInFlight);
  add(ringer_);
  ringer_.setState(ledger::kWorkWaiting);
  const auto waits = [&] {
    ringer_.drained();
    other_.drained();
    return ringer_.gate() == GateState::kHold && other_.gate() == GateState::kRun;
  };
  std::uint64_t wakes = 0;
  constexpr unsigned kRings = 40;
  // A round in which its turn came shows nothing.
  const bool shown = eventually([&] {
    const std::uint64_t seen = arbiters_.wakeups();
    // Of an order that came after drained() its rings are the answer, so they would wake.
    const std::uint64_t seq = ringer_.seq();
    if (!waits() || !eventually([&] { return arbiters_.wakeups() != seen; })) return false;
    const std::uint64_t before = arbiters_.wakeups();
    const Nanos began = clockNow();
    for (unsigned i = 0; i < kRings; ++i, testing::pause()) ringer_.ring();
    wakes = arbiters_.wakeups() - before;
    // Nor one that took so long that there was much else to wake for.
    return ringer_.seq() == seq && ringer_.gate() == GateState::kHold &&
           clockNow() - began < kSecond / 2;
  });
  ASSERT_TRUE(shown);
  // The end of the other one's turn, a beat, a window of figures.
  EXPECT_LE(wakes, 8u) << "of " << kRings << " rings";
}

}  // namespace
}  // namespace divvy::arbiter
