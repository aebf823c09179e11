#include "holder.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

#include "barrier.h"
#include "driver.h"

namespace divvy::bench {
namespace {

constexpr std::size_t kSmallBytes = 1 << 20;
constexpr std::size_t kSlackBytes = 64 << 20;  // what the victim leaves to the survivor
constexpr std::int64_t kBound = 10'000'000'000;
constexpr std::int64_t kMaxKillDelay = 3'000'000;

std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct HolderPage {
  Barrier started;  // parent and survivor, once
  Barrier held;     // parent and victim: the share is taken
  Barrier settled;  // parent and survivor: the bytes are back
  std::atomic<std::uint64_t> victim_bytes{0};
  std::atomic<std::int64_t> killed_at{0};
};

std::size_t freeBytes() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  must(cuMemGetInfo_v2(&free_bytes, &total_bytes), "cuMemGetInfo");
  return free_bytes;
}

[[noreturn]] void beVictim(HolderPage& page) {
  openDevice();
  CUdeviceptr block = 0;
  const std::size_t bytes = freeBytes() - kSlackBytes;
  must(cuMemAlloc_v2(&block, bytes), "cuMemAlloc of the victim");
  page.victim_bytes = bytes;
  if (!page.held.meet(2)) _exit(1);
  for (;;) {
    must(cuMemAlloc_v2(&block, kSmallBytes), "cuMemAlloc of the victim");
    must(cuMemFree_v2(block), "cuMemFree of the victim");
  }
}

// Works until the victim's bytes are granted to this process; prints what that took.
void surviveOne(HolderPage& page) {
  std::int64_t gap = 0;
  for (;;) {
    const std::int64_t before = nowNs();
    CUdeviceptr small = 0;
    must(cuMemAlloc_v2(&small, kSmallBytes), "cuMemAlloc of the survivor");
    must(cuMemFree_v2(small), "cuMemFree of the survivor");
    const std::int64_t killed_at = page.killed_at.load(std::memory_order_acquire);
    if (killed_at == 0) continue;
    const std::int64_t now = nowNs();
    gap = std::max(gap, now - std::max(before, killed_at));
    CUdeviceptr big = 0;
    if (cuMemAlloc_v2(&big, page.victim_bytes) == 0) {
      std::printf("gap %.6f\nback %.6f\n", static_cast<double>(gap) / 1e6,
                  static_cast<double>(nowNs() - killed_at) / 1e6);
      must(cuMemFree_v2(big), "cuMemFree of the survivor");
      page.killed_at = 0;
      return;
    }
    if (now - killed_at > kBound) must(kOutOfMemory, "the victim's bytes after 10 s");
  }
}

void beSurvivor(HolderPage& page, int trials) {
  openDevice();
  const std::size_t before = freeBytes();
  if (!page.started.meet(2)) _exit(1);
  for (int i = 0; i < trials; ++i) {
    surviveOne(page);
    // A victim's context may come back after its bytes: the next trial starts from a full share.
    for (const std::int64_t bound = nowNs() + kBound; freeBytes() < before && nowNs() < bound;) {
    }
    if (!page.settled.meet(2)) _exit(1);
  }
  const std::size_t after = freeBytes();
  std::printf("lost %lld\n", static_cast<long long>(before) - static_cast<long long>(after));
}

pid_t forkRole(HolderPage& page, int trials, bool victim) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (victim) beVictim(page);
  beSurvivor(page, trials);
  std::fflush(stdout);
  _exit(0);
}

// One victim from birth to death at a random moment of its work.
bool killOneVictim(HolderPage& page, std::mt19937& random) {
  const pid_t victim = forkRole(page, 0, true);
  if (victim < 0 || !page.held.meet(2)) return false;
  const std::int64_t when = nowNs() + static_cast<std::int64_t>(random() % kMaxKillDelay);
  while (nowNs() < when) {
  }
  page.killed_at.store(nowNs(), std::memory_order_release);
  kill(victim, SIGKILL);
  int status = 0;
  return waitpid(victim, &status, 0) == victim && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGKILL && page.settled.meet(2);
}

}  // namespace

int runHolder(int trials) {
  void* shared =
      mmap(nullptr, sizeof(HolderPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* page = new (shared) HolderPage;
  const pid_t survivor = forkRole(*page, trials, false);
  if (survivor < 0) return 1;
  std::mt19937 random(42);
  bool well = page->started.meet(2);
  for (int i = 0; i < trials && well; ++i) well = killOneVictim(*page, random);
  if (!well) kill(survivor, SIGKILL);
  int status = 0;
  return waitpid(survivor, &status, 0) == survivor && status == 0 && well ? 0 : 1;
}

}  // namespace divvy::bench
