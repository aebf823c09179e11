// Stream-ordered allocation and memory pools.
#include "driver_process.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kUnit = 32 * kMiB;

class Pools : public DriverTest {
 protected:
  static std::uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    EXPECT_EQ(cu<Cu::cuMemPoolGetAttribute>(pool, which, static_cast<void*>(&value)), CUDA_SUCCESS);
    return value;
  }
  static CUmemoryPool defaultPool() {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cu<Cu::cuDeviceGetDefaultMemPool>(&pool, 0), CUDA_SUCCESS);
    return pool;
  }
  static CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&p, bytes, CUstream{nullptr}), CUDA_SUCCESS);
    return p;
  }
  static void release(CUdeviceptr p) {
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(p, CUstream{nullptr}), CUDA_SUCCESS);
  }
};

TEST_F(Pools, Allocations_ReserveIn32MiBUnits) {
  runReady(
      [] {
        const CUmemoryPool pool = defaultPool();
        const CUdeviceptr p = allocate(1000);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024U);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kUnit);
        EXPECT_EQ(booked(Charge::kPool), kUnit) << "the card is charged what is reserved";
        const CUdeviceptr q = allocate(kUnit + 1);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 3 * kUnit);
        release(p);
        release(q);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), kUnit + 512 + 1024);
        EXPECT_EQ(booked(Charge::kPool), 3 * kUnit) << "freed memory stays reserved until a sync";
        EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(pool, size_t{0}), CUDA_SUCCESS);
        EXPECT_EQ(booked(Charge::kPool), 3 * kUnit) << "and trimming makes no difference before";
        EXPECT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{nullptr}), CUDA_SUCCESS);
        EXPECT_EQ(booked(Charge::kPool), 0U);
      },
      {});
}

TEST_F(Pools, Synchronize_ReleasesAboveThreshold) {
  runReady([] {
    const CUmemoryPool pool = defaultPool();
    release(allocate(3 * kUnit));
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), 0U) << "the default threshold is zero";
    cuuint64_t threshold = 2 * kUnit;
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&threshold)),
              CUDA_SUCCESS);
    const CUdeviceptr p = allocate(kUnit);
    const CUdeviceptr q = allocate(kUnit);
    const CUdeviceptr r = allocate(kUnit);
    release(p);
    release(q);
    release(r);
    EXPECT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), 2 * kUnit);
  });
}

TEST_F(Pools, Trim_KeepsMinimumAndUsed) {
  runReady([] {
    const CUmemoryPool pool = defaultPool();
    cuuint64_t threshold = 10 * kUnit;
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&threshold)),
              CUDA_SUCCESS);
    const CUdeviceptr p = allocate(100);
    const CUdeviceptr q = allocate(kUnit);
    release(q);
    EXPECT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(pool, 2 * kUnit), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), 2 * kUnit);
    EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(pool, size_t{0}), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), kUnit);
    release(p);
  });
}

TEST_F(Pools, EachFreePairing_IsAccepted) {
  runReady([] {
    CUdeviceptr plain = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, size_t{4096}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(plain, CUstream{nullptr}), CUDA_SUCCESS)
        << "cuMemFreeAsync of cuMemAlloc";
    const CUdeviceptr pooled = allocate(4096);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(pooled), CUDA_SUCCESS) << "cuMemFree of cuMemAllocAsync";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(pooled), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(attribute(defaultPool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(CUdeviceptr{512}, CUstream{nullptr}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(CUdeviceptr{0}, CUstream{nullptr}), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Pools, MaxSize_RefusesMore) {
  runReady([] {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = kUnit;
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cu<Cu::cuMemPoolCreate>(&pool, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&p, size_t{kUnit}, pool, CUstream{nullptr}),
              CUDA_SUCCESS);
    CUdeviceptr q = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&q, size_t{1}, pool, CUstream{nullptr}),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), kUnit) << "a destroyed pool lives as long as its memory";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), 0U);
  });
}

TEST_F(Pools, DefaultPool_NotDestroyableAndComesBack) {
  runReady([] {
    const CUmemoryPool standard = defaultPool();
    EXPECT_EQ(cu<Cu::cuMemPoolDestroy>(standard), CUDA_ERROR_INVALID_VALUE);
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool own = nullptr;
    ASSERT_EQ(cu<Cu::cuMemPoolCreate>(&own, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDeviceSetMemPool>(0, own), CUDA_SUCCESS);
    CUmemoryPool current = nullptr;
    EXPECT_EQ(cu<Cu::cuDeviceGetMemPool>(&current, 0), CUDA_SUCCESS);
    EXPECT_EQ(current, own);
    const CUdeviceptr p = allocate(1);
    EXPECT_EQ(attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 512U);
    release(p);
    EXPECT_EQ(cu<Cu::cuMemPoolDestroy>(own), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDeviceGetMemPool>(&current, 0), CUDA_SUCCESS);
    EXPECT_EQ(current, standard);
    EXPECT_EQ(cu<Cu::cuMemPoolDestroy>(own), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Pools, UnusedReserved_GivenUpBeforeRefusal) {
  runReady([] {
    const std::uint64_t room = freeBytes() / kUnit * kUnit;
    release(allocate(room));
    EXPECT_EQ(booked(Charge::kPool), room);
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool own = nullptr;
    ASSERT_EQ(cu<Cu::cuMemPoolCreate>(&own, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&p, size_t{kUnit}, own, CUstream{nullptr}),
              CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), kUnit);
  });
}

TEST_F(Pools, ContextDestroyed_PoolMemoryStays) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext first = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&first, 0U, 0), CUDA_SUCCESS);
    const CUdeviceptr p = allocate(1);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(first), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPool), kUnit);
    CUcontext second = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&second, 0U, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
  });
}

TEST_F(Pools, HighWaterMark_CanOnlyBeReset) {
  runReady([] {
    const CUmemoryPool pool = defaultPool();
    release(allocate(5 * kMiB));
    cuuint64_t value = 7;
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                                            static_cast<void*>(&value)),
              CUDA_ERROR_INVALID_VALUE);
    value = 0;
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                                            static_cast<void*>(&value)),
              CUDA_SUCCESS);
    EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0U);
    value = 5 * kMiB;
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&value)),
              CUDA_SUCCESS);
    EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 5 * kMiB);
  });
}

}  // namespace
}  // namespace divvy::simgpu
