// I4: every way of consuming device memory is accounted, to the byte that the card has booked.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class AllocationTest : public TenantTest {
 protected:
  // Small blocks share arenas, and are there before the card has room for them.
  static bool swaps() { return std::getenv("DIVVY_TEST_SWAP") != nullptr; }
};

TEST_F(AllocationTest, PlainBlocks_I4ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  EXPECT_EXACT();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{513}, std::size_t{100 * kMiB}}) {
    CUdeviceptr block = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    EXPECT_GE(charged(), before + bytes);
    EXPECT_EXACT();
    ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before);
    EXPECT_EXACT();
  }
}

TEST_F(AllocationTest, AllocationsAboveShare_S5OutOfMemoryCounted) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  CUdeviceptr block = 0xdead;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{2 * kGiB}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(block, 0xdeadu);
  EXPECT_EQ(failedRequests(), (FailedRequests{1, 2 * kGiB, 0, 0}));
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control().refusals, 2u);
  EXPECT_EQ(failedRequests().over_limit, 2u);
  EXPECT_GT(failedRequests().over_limit_bytes, 2 * kGiB);
  EXPECT_EQ(failedRequests().device_full, 0u);
  EXPECT_EXACT();
}

TEST_F(AllocationTest, MemoryInfo_TotalIsShareAndFreeIsUncharged) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, kGiB);
  EXPECT_EQ(free_bytes, kGiB - charged());
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, free_bytes), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 0u);
  EXPECT_EQ(total, kGiB);
}

TEST_F(AllocationTest, PitchedBlocks_I4ChargedByDriversPitch) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  for (const std::size_t width : {std::size_t{1}, std::size_t{513}, std::size_t{4096}}) {
    CUdeviceptr block = 0;
    std::size_t pitch = 0;
    ASSERT_EQ(cu<Cu::cuMemAllocPitch_v2>(&block, &pitch, width, std::size_t{999}, 4u),
              CUDA_SUCCESS);
    EXPECT_GE(charged(), before + pitch * 999);
    EXPECT_EXACT();
    ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before);
  }
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  EXPECT_EQ(
      cu<Cu::cuMemAllocPitch_v2>(&block, &pitch, std::size_t{1} << 40, std::size_t{1} << 40, 4u),
      CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EXACT();
}

// Managed memory is charged in full, wherever its pages are: it may all come to the card.
TEST_F(AllocationTest, ManagedBlock_I4ChargedInFull) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&block, std::size_t{64 * kMiB}, 1u), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before + 64 * kMiB);
  EXPECT_LE(booked(), charged());
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(cu<Cu::cuMemAllocManaged>(&block, std::size_t{2 * kGiB}, 1u), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(AllocationTest, Oldest32BitCallsAboveShare_I3Refused) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr_v1 block = 0;
  unsigned pitch = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc>(&block, 0xf0000000u), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuMemAllocPitch>(&block, &pitch, 0xf0000u, 0xf0000u, 4u),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control().refusals, 2u);
  // Whether 32 bits can hold one of its addresses is the driver's business.
  if (cu<Cu::cuMemAlloc>(&block, 1000u) == CUDA_SUCCESS) {
    EXPECT_EXACT();
    EXPECT_EQ(cu<Cu::cuMemFree>(block), CUDA_SUCCESS);
  }
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// Regression test of HAMi-core's -1, and of frees that never reached the driver.
TEST_F(AllocationTest, FreeOfUnknownAddress_S5DriversErrorReturned) {
  if (outside()) return;
  makeReady();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{0x123450000}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{0}), CUDA_SUCCESS) << "legal, and does nothing";
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{4096}), CUDA_SUCCESS);
  const std::uint64_t held = charged();
  EXPECT_NE(cu<Cu::cuMemFree_v2>(block + 512), CUDA_SUCCESS) << "an address inside";
  EXPECT_EQ(charged(), held);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_NE(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS) << "twice";
  EXPECT_EXACT();
}

TEST_F(AllocationTest, InvalidArguments_S5ErrorReturnedAndRefunded) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(static_cast<CUdeviceptr*>(nullptr), std::size_t{512}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemAllocManaged>(&block, std::size_t{512}, 77u), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(charged(), before);
}

// The driver may run out before the share does, when others fill the card.
TEST_F(AllocationTest, DriverOutOfMemory_S2ChargeRefunded) {
  if (outside({.environment = {{"SIMGPU_FAULTS", "oom"}}})) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUcontext context = nullptr;
  CUdeviceptr block = 0;
  if (cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0) == CUDA_SUCCESS) {
    ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{kMiB}),
              swaps() ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    if (swaps()) {
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
    }
  }
  EXPECT_EXACT();
  EXPECT_EQ(control().refusals, 0u);
}

// Host memory is not the device's: it must not fail because the share is used up.
TEST_F(AllocationTest, PinnedHostMemoryAboveShare_NotCharged) {
  if (outside({.ceiling = 300 * kMiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  void* pinned = nullptr;
  EXPECT_EQ(cu<Cu::cuMemAllocHost_v2>(&pinned, std::size_t{500 * kMiB}), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFreeHost>(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemHostAlloc>(&pinned, std::size_t{500 * kMiB}, 0u), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFreeHost>(pinned), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
}

TEST_F(AllocationTest, TenThousandLiveBlocks_ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  std::vector<CUdeviceptr> live(10'000);
  for (CUdeviceptr& block : live) {
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{1000}), CUDA_SUCCESS);
  }
  if (swaps()) {
    EXPECT_GE(charged(), before + live.size() * 1024);
    EXPECT_LE(charged(), before + 2 * live.size() * 1024) << "half of the arenas may be unused";
  } else {
    EXPECT_EQ(charged(), before + live.size() * 1024);
  }
  EXPECT_EXACT();
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(cu<Cu::cuMemFree_v2>(live[(i * 7919) % live.size()]), CUDA_SUCCESS);
  }
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// S2: threads that race for the last bytes. The card's own books say whether the share was passed.
TEST_F(AllocationTest, ThreadsRacingForLastBytes_S2ShareNotExceeded) {
  if (outside({.ceiling = 400 * kMiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> granted{0}, refused{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      for (int i = 0; i < 1000; ++i) {
        CUdeviceptr block = 0;
        const CUresult result = cu<Cu::cuMemAlloc_v2>(&block, std::size_t{40 * kMiB});
        if (result == CUDA_SUCCESS) {
          if (i % 50 == 0) {
            EXPECT_LE(booked(), 400 * kMiB);
          }
          EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
          ++granted;
        } else {
          EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
          ++refused;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(granted + refused, 8000u);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
