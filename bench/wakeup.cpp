#include "wakeup.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "load/card_time.h"

namespace divvy::bench {
namespace {

constexpr int kRounds = 300;
constexpr std::uint64_t kApartNs = 1'000'000;

// The waker stamps, then wakes; the sleeper notes how long ago that was.
struct Page {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint64_t> stamp;
  std::uint64_t took[kRounds];
};

void futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  constexpr timespec kBound{1, 0};
  syscall(SYS_futex, word, operation, value, operation == FUTEX_WAIT ? &kBound : nullptr, nullptr,
          0);
}

[[noreturn]] void sleeper(Page* page) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    while (page->word.load(std::memory_order_acquire) == i) futex(&page->word, FUTEX_WAIT, i);
    page->took[i] = monotonicNow() - page->stamp.load(std::memory_order_relaxed);
  }
  _exit(0);
}

void pauseFor(std::uint64_t nanos) {
  const CardClock clock(1000);
  clock.sleepUntil(clock.now() + nanos);
}

}  // namespace

WakeupLatency measureWakeups() {
  WakeupLatency result;
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t before = monotonicNow();
    pauseFor(kApartNs);
    result.sleep_us.push_back(static_cast<double>(monotonicNow() - before - kApartNs) / 1e3);
  }
  void* at = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return result;
  Page* page = static_cast<Page*>(at);
  const pid_t child = fork();
  if (child == 0) sleeper(page);
  for (std::uint32_t i = 1; child > 0 && i <= kRounds; ++i) {
    pauseFor(kApartNs);
    page->stamp.store(monotonicNow(), std::memory_order_relaxed);
    page->word.store(i, std::memory_order_release);
    futex(&page->word, FUTEX_WAKE, 1);
  }
  if (child > 0) {
    waitpid(child, nullptr, 0);
    // One that was overtaken by the next wake measured nothing: its stamp is not the one it had.
    for (const std::uint64_t took : page->took) {
      result.futex_us.push_back(static_cast<double>(took) / 1e3);
    }
  }
  munmap(at, sizeof(Page));
  return result;
}

}  // namespace divvy::bench
