// The race of ledger/swap.h: a process takes room by an order that the agent takes back at the same
// instant. Here the board is the test's own, nothing is preloaded.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "ledger/residency_pages.h"
#include "runtime.h"
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kRoom = 4 * kMiB;

class SwapReportTest : public TenantTest {
 protected:
  static bool elsewhere() {
    Tenancy tenancy;
    tenancy.swap = true;
    tenancy.environment["LD_PRELOAD"] = "";
    return outside(tenancy);
  }

  static ledger::ResidencyOrder orderOf(std::uint64_t bytes) {
    ledger::ResidencyOrder order;
    order.allowed.fill(bytes);
    return order;
  }
};

std::atomic<bool> stopped{false};
std::atomic<bool> go_on{false};

// Keeps a thread where it is, whatever it was about.
void stopHere(int) {
  stopped = true;
  while (!go_on) ::sched_yield();
  stopped = false;
}

bool becomes(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::sched_yield();
  }
  return true;
}

// Takes room and gives it back, all the time.
class Taker {
 public:
  Taker() : thread_([this] { run(); }) {}
  ~Taker() {
    over_ = true;
    go_on = true;
    thread_.join();
  }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  // Stops it at some instruction; lets it go on until it has asked for room a few times.
  bool stop() {
    go_on = false;
    return ::pthread_kill(thread_.native_handle(), SIGUSR1) == 0 &&
           becomes([] { return stopped.load(); });
  }
  bool goOn() {
    const std::uint64_t asked = asked_;
    go_on = true;
    return becomes([&] { return !stopped && asked_ > asked + 3; });
  }

  // From here on it must get none.
  void forbid(bool forbidden) { forbidden_ = forbidden; }
  std::uint64_t overruns() const { return overruns_; }
  std::uint64_t taken() const { return taken_; }

 private:
  void run() {
    SwapReport& board = runtime().swap_board;
    for (; !over_; ++asked_) {
      if (!board.takeRoom(0, kRoom)) continue;
      ++taken_;
      if (forbidden_) ++overruns_;
      // As giveRoom(), which also tells the agent: most of the time would be spent there.
      __atomic_fetch_sub(&board.device(0).mapped, kRoom, __ATOMIC_SEQ_CST);
    }
  }

  std::atomic<bool> over_{false};
  std::atomic<bool> forbidden_{false};
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> overruns_{0};
  std::thread thread_;
};

// The agent lowers the order and looks then, as the arbiter does: who shows nothing at that moment
// takes nothing any more, wherever he was.
TEST_F(SwapReportTest, OrderTakenBack_NoRoomTakenAfterwards) {
  if (elsewhere()) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  ASSERT_TRUE(runtime().tenant.ready());
  ASSERT_TRUE(runtime().swap_board.claim());
  auto pages = ledger::ResidencyPages::open(tenantDir());
  ASSERT_TRUE(pages);
  const unsigned slot = runtime().tenant.account().slot();
  const std::uint64_t generation = runtime().tenant.account().slotOwner() - 1;
  std::signal(SIGUSR1, stopHere);
  unsigned judged = 0;
  Taker taker;
  for (int i = 0; i < 100; ++i) {
    pages->order(slot, generation, orderOf(kRoom));
    ASSERT_TRUE(taker.goOn());
    ASSERT_TRUE(taker.stop());
    pages->order(slot, generation, orderOf(0));
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ledger::SwapSample sample;
    ASSERT_TRUE(pages->read(slot, generation, &sample));
    const bool nothing = sample.device[0].mapped == 0;
    taker.forbid(nothing);
    ASSERT_TRUE(taker.goOn());
    taker.forbid(false);
    judged += nothing ? 1 : 0;
  }
  EXPECT_EQ(taker.overruns(), 0u);
  EXPECT_GT(judged, 0u) << "nothing was tested";
  EXPECT_GT(taker.taken(), 0u);
}

}  // namespace
}  // namespace divvy::interposer
