// I4, I3: stream-ordered memory is charged by what its pools have reserved from the card.
#include <thread>
#include <vector>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr CUstream kNull = nullptr;

class PoolTest : public TenantTest {
 protected:
  static CUmemoryPool defaultPool() {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cu<Cu::cuDeviceGetDefaultMemPool>(&pool, 0), CUDA_SUCCESS);
    return pool;
  }
  static CUmemoryPool makePool() {
    CUmemoryPool pool = nullptr;
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_EQ(cu<Cu::cuMemPoolCreate>(&pool, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    return pool;
  }
  static void keepAll(CUmemoryPool pool) {
    cuuint64_t threshold = ~cuuint64_t{0};
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&threshold)),
              CUDA_SUCCESS);
  }
};

TEST_F(PoolTest, AsyncMemory_I4ChargedAsReserved) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr small = 0, large = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&small, std::size_t{100}, kNull), CUDA_SUCCESS);
  EXPECT_GT(charged(), before + 100) << "a pool takes more than is asked for";
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&large, std::size_t{100 * kMiB}, kNull), CUDA_SUCCESS);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(small, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(large, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(kNull), CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_EQ(charged(), before);
}

TEST_F(PoolTest, PerThreadCallsAndNamedPools_I4ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr a = 0, b = 0, c = 0;
  const CUmemoryPool pool = makePool();
  ASSERT_EQ(cu<Cu::cuMemAllocAsync_ptsz>(&a, std::size_t{kMiB}, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&b, std::size_t{kMiB}, pool, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync_ptsz>(&c, std::size_t{60 * kMiB}, pool, kNull),
            CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_GE(charged(), before + 62 * kMiB);
  for (const CUdeviceptr block : {a, b, c}) {
    ASSERT_EQ(cu<Cu::cuMemFreeAsync_ptsz>(block, kNull), CUDA_SUCCESS);
  }
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_EQ(charged(), before);
}

TEST_F(PoolTest, PoolKeepsMemory_I4ChargedUntilTrimmed) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  keepAll(defaultPool());
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{200 * kMiB}, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(kNull), CUDA_SUCCESS);
  EXPECT_GE(charged(), before + 200 * kMiB);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemPoolTrimTo>(defaultPool(), std::size_t{0}), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// As the driver does on a full card: memory that a pool keeps unused does not make others fail.
TEST_F(PoolTest, UnusedPoolMemory_TakenBackForOthers) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  keepAll(defaultPool());
  CUdeviceptr block = 0, plain = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{500 * kMiB}, kNull), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, std::size_t{500 * kMiB}), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(kNull), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, std::size_t{500 * kMiB}), CUDA_SUCCESS);
  EXPECT_EXACT();
}

// PyTorch's cudaMallocAsync backend on an H100: what it had freed was out of memory for it as a
// larger block, because a driver gives nothing back before somebody synchronises.
TEST_F(PoolTest, FreedWithoutSynchronize_UsableForLargerBlock) {
  if (outside({.ceiling = 2 * kGiB})) return;
  makeReady();
  keepAll(defaultPool());
  CUdeviceptr blocks[6], large = 0;
  for (CUdeviceptr& block : blocks) {
    ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{100 * kMiB}, kNull), CUDA_SUCCESS);
  }
  for (const CUdeviceptr block : blocks) {
    ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
  }
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&large, std::size_t{900 * kMiB}, kNull), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(PoolTest, AllocationAboveShare_S5OutOfMemory) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kGiB}, kNull), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, ~std::size_t{0}, kNull), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, std::size_t{kGiB}, makePool(), kNull),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EXACT();
}

// Regression tests of HAMi-core's -1: all four pairings of allocation and free are legal.
TEST_F(PoolTest, FreesAcrossApis_S5ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr a = 0, b = 0, c = 0, d = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&a, std::size_t{kMiB}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&b, std::size_t{kMiB}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&c, std::size_t{kMiB}, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&d, std::size_t{kMiB}, kNull), CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(a), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFreeAsync>(b, kNull), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(c), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFreeAsync>(d, kNull), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(a), CUDA_ERROR_INVALID_VALUE) << "the driver's own answer";
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(PoolTest, PoolDestroyed_ChargedUntilLastBlockFreed) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUmemoryPool pool = makePool();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, std::size_t{kMiB}, pool, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
  EXPECT_GT(charged(), before);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(PoolTest, ManyPoolsCreatedAndDestroyed_ChargeRefunded) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  for (int i = 0; i < 1500; ++i) {  // three times what the book holds at once
    const CUmemoryPool pool = makePool();
    CUdeviceptr block = 0;
    ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, std::size_t{512}, pool, kNull), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuStreamSynchronize>(kNull), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
  }
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// The pools that the book had no room for once allocated without limit.
TEST_F(PoolTest, MorePoolsThanTracked_Refused) {
  if (outside()) return;
  makeReady();
  std::vector<CUmemoryPool> pools;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const auto create = [&](CUmemoryPool* pool) {
    return cu<Cu::cuMemPoolCreate>(pool, static_cast<const CUmemPoolProps*>(&props));
  };
  CUmemoryPool pool = nullptr;
  while (pools.size() < 600 && create(&pool) == CUDA_SUCCESS) pools.push_back(pool);
  ASSERT_EQ(pools.size(), 512u);
  EXPECT_EQ(create(&pool), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(pool, nullptr);
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, kNull), CUDA_ERROR_OUT_OF_MEMORY)
      << "the default pool is not in the book";
  EXPECT_EQ(faults(25), 3u);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemPoolDestroy>(pools.back()), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, kNull), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(PoolTest, ThreadsOnOnePool_ShareNotExceededAndExact) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([context, t] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      for (int i = 0; i < 300; ++i) {
        CUdeviceptr block = 0;
        const std::size_t bytes = (static_cast<std::size_t>(i * 7 + t) % 150 + 1) * kMiB;
        const CUresult result = cu<Cu::cuMemAllocAsync>(&block, bytes, kNull);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
        EXPECT_LE(booked(), kGiB) << "above the share";
        if (result != CUDA_SUCCESS) continue;
        EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
        if (i % 5 == 0) {
          EXPECT_EQ(cu<Cu::cuStreamSynchronize>(kNull), CUDA_SUCCESS);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
  EXPECT_EQ(faults(20), 0u) << "a pool outgrew what was admitted";
}

}  // namespace
}  // namespace divvy::interposer
