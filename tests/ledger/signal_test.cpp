// B6: a signal handler that allocates or frees while its own thread is inside the ledger.
#include <signal.h>
#include <sys/time.h>

#include "stepper.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

Account* interrupted = nullptr;
volatile sig_atomic_t handled = 0;
volatile sig_atomic_t handler_got = 0;

void reserveInHandler(int) {
  handled = handled + 1;
  if (interrupted->reserve(0, 3) == Admission::kGranted) {
    handler_got = handler_got + 1;
    interrupted->release(0, 3);
  }
}

class SignalTest : public testing::Test {
 protected:
  void begin(std::uint64_t ceiling) {
    ledger_.emplace(mustCreate(private_.path() / "t", specWith(ceiling)));
    mustAttach(private_.path() / "t", account_);
    interrupted = &account_;
  }

  // Sends the signal at every instruction of the operation.
  void interruptEverywhere(const Steps& steps, std::uint64_t used_after) {
    const std::vector<std::uintptr_t> trace = traceOf(steps);
    ASSERT_EQ(ledger_->reap(0, 0)->outcome, ReapOutcome::kFreed);  // the traced one
    for (std::size_t k = 0; k < trace.size() && !HasFailure(); ++k) {
      SCOPED_TRACE(testing::Message() << "signal before instruction " << k);
      Stepped child(steps);
      runToStep(child, trace, k);
      child.finishWithSignal(SIGUSR1);
      const Result<ReportSnapshot> seen = ledger_->readReport();
      const SlotSnapshot* slot = nullptr;
      for (const SlotSnapshot& one : seen->slots) {
        if (one.owner.pid == static_cast<std::uint32_t>(child.pid())) slot = &one;
      }
      ASSERT_NE(slot, nullptr);
      EXPECT_EQ(slot->used[0].count, used_after);
      EXPECT_EQ(seen->devices[0].total.count, used_after);
      EXPECT_EQ(seen->fault_counts[static_cast<unsigned>(FaultCode::kOverRelease)], 0u);
      child.kill();
      ASSERT_EQ(ledger_->reap(slot->slot, slot->generation)->outcome, ReapOutcome::kFreed);
    }
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account account_;
};

TEST_F(SignalTest, ReserveInHandlerAnywhere_B6Holds) {
  if (const char* why = whyNoStepping()) GTEST_SKIP() << why;
  begin(1000);
  interruptEverywhere({[this] {
                         signal(SIGUSR1, reserveInHandler);
                         account_.reserve(0, 100);
                       },
                       [this] {
                         account_.release(0, 40);
                         account_.reserve(0, 200);
                       }},
                      260);
}

// The handler frees what lies on the very lane that its own thread holds: it cannot wait for that.
void releaseInHandler(int) {
  interrupted->release(0, 100);
}

TEST_F(SignalTest, ReleaseInHandlerAnywhere_B6Holds) {
  if (const char* why = whyNoStepping()) GTEST_SKIP() << why;
  begin(1000);
  interruptEverywhere({[this] {
                         signal(SIGUSR1, releaseInHandler);
                         account_.reserve(0, 100);
                       },
                       [this] { account_.reserve(0, 200); }},
                      200);
}

TEST_F(SignalTest, ManySignals_NothingIsLost) {
  begin(1000);
  ASSERT_EQ(account_.reserve(0, 1), Admission::kGranted);
  signal(SIGALRM, reserveInHandler);
  const itimerval often{{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; handled < 2000 && i < 50'000'000; ++i) {
    if (account_.reserve(0, 500) == Admission::kGranted) account_.release(0, 500);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  signal(SIGALRM, SIG_DFL);
  EXPECT_GE(handled, 2000);
  EXPECT_EQ(handler_got, handled);
  EXPECT_EQ(account_.total(0), 1u);
}

}  // namespace
}  // namespace divvy::ledger
