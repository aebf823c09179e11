// The NVML hooks under threads and forks.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "interposer/nvml_hooks.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer::test {
namespace {

// Everything a monitor asks, once. False at the first wrong answer.
bool lookAround(unsigned expected_cards, std::uint64_t expected_total) {
  unsigned count = 0;
  if (hook_nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS || count != expected_cards) return false;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (hook_nvmlDeviceGetHandleByIndex_v2(i, &device) != NVML_SUCCESS) return false;
    nvmlMemory_t memory{};
    if (hook_nvmlDeviceGetMemoryInfo(device, &memory) != NVML_SUCCESS) return false;
    if (memory.total != expected_total || memory.total != memory.used + memory.free) return false;
    unsigned index = 99;
    if (hook_nvmlDeviceGetIndex(device, &index) != NVML_SUCCESS || index != i) return false;
    unsigned processes = 0;
    const nvmlReturn_t listed =
        hook_nvmlDeviceGetComputeRunningProcesses_v3(device, &processes, nullptr);
    if (listed != NVML_SUCCESS && listed != NVML_ERROR_INSUFFICIENT_SIZE) return false;
  }
  return true;
}

TEST(NvmlThreads, ConcurrentFirstCalls_AgreeOnShare) {
  for (int round = 0; round < 20; ++round) {
    inFreshProcess([] {
      addCards(4);
      const auto cards = fakeNode().cards();
      TenantDir tenant({shareOf(*cards[1], gib(2)), shareOf(*cards[2], gib(2))});
      std::atomic<int> ready{0};
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
          ++ready;
          while (ready.load() < 8) std::this_thread::yield();
          if (!lookAround(2, gib(2).count)) ++wrong;
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong.load(), 0);
    });
  }
}

// It was: between the lookup of a unit and a second look at it, another thread's shutdown made the
// tenant's own device a foreign one.
TEST(NvmlThreads, ShutdownDuringLookup_OwnDeviceFound) {
  inFreshProcess([] {
    addCards(3);
    TenantDir tenant(
        {shareOf(*fakeNode().cards()[1], gib(2)), shareOf(*fakeNode().cards()[2], gib(2))});
    fakeNode().during_lookup = [] { std::thread([] { hook_nvmlShutdown(); }).join(); };
    for (const unsigned card : {1u, 2u}) {
      nvmlDevice_t device = fakeNode().cards()[card]->handle();
      nvmlMemory_t memory{};
      EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS) << card;
      EXPECT_EQ(memory.total, gib(2).count) << card;
    }
  });
}

TEST(NvmlThreads, ShutdownDuringLookup_HandleNotKept) {
  inFreshProcess([] {
    addCards(1);
    TenantDir tenant({shareOf(*fakeNode().cards()[0], gib(2))});
    nvmlDevice_t device = nullptr;
    fakeNode().during_lookup = [] { std::thread([] { hook_nvmlShutdown(); }).join(); };
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    fakeNode().during_lookup = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    EXPECT_EQ(fakeNode().lookups.load(), 2u) << "a handle of the former session was kept";
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    EXPECT_EQ(fakeNode().lookups.load(), 2u);
  });
}

TEST(NvmlThreads, ShutdownsDuringQueries_AnswersCorrect) {
  constexpr int kRounds = 20'000;
  inFreshProcess([] {
    addCards(2);
    TenantDir tenant({shareOf(*fakeNode().cards()[1], gib(2))});
    std::atomic<int> rounds{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (++rounds < kRounds) {
          if (!lookAround(1, gib(2).count)) ++wrong;
        }
      });
    }
    while (rounds.load() < kRounds) hook_nvmlShutdown();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
  });
}

TEST(NvmlThreads, ForkedChild_B5SameTenantSeen) {
  inFreshProcess([] {
    addCards(3);
    TenantDir tenant({shareOf(*fakeNode().cards()[2], gib(2))});
    EXPECT_TRUE(lookAround(1, gib(2).count));
    inFreshProcess([] { EXPECT_TRUE(lookAround(1, gib(2).count)); });
    EXPECT_TRUE(lookAround(1, gib(2).count));
  });
}

TEST(NvmlThreads, ForkBeforeFirstCall_B5TenantSeen) {
  inFreshProcess([] {
    addCards(3);
    TenantDir tenant({shareOf(*fakeNode().cards()[2], gib(2))});
    inFreshProcess([] { EXPECT_TRUE(lookAround(1, gib(2).count)); });
    EXPECT_TRUE(lookAround(1, gib(2).count));
  });
}

}  // namespace
}  // namespace divvy::interposer::test
