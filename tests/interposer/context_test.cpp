// I4: contexts cost memory, and take what was allocated in them along when they end.
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class ContextTest : public TenantTest {
 protected:
  static CUarray makeArray() {
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR shape{1000, 1000, CU_AD_FORMAT_FLOAT, 4};
    EXPECT_EQ(cu<Cu::cuArrayCreate_v2>(&array, &shape), CUDA_SUCCESS);
    return array;
  }
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    return block;
  }
};

TEST_F(ContextTest, PrimaryContext_I4ChargedUntilLastRelease) {
  if (outside()) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  CUcontext context = nullptr;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), CUDA_SUCCESS);
    EXPECT_GT(charged(), 0u);
    EXPECT_EXACT();
  }
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
  EXPECT_GT(charged(), 0u);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EXACT();
  EXPECT_NE(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(ContextTest, PrimaryContextReleased_I4MemoryRefunded) {
  if (outside()) return;
  makeReady();
  allocate(100 * kMiB);
  makeArray();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&block, std::size_t{kMiB}, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EXACT();
}

TEST_F(ContextTest, PrimaryContextReset_I4MemoryRefunded) {
  if (outside()) return;
  makeReady();
  allocate(100 * kMiB);
  makeArray();
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EXACT();
}

TEST_F(ContextTest, CreatedContexts_I4ChargedWithTheirMemory) {
  if (outside()) return;
  makeReady();
  const std::uint64_t with_primary = charged();
  CUcontext first = nullptr, second = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&first, 0u, 0), CUDA_SUCCESS);
  EXPECT_EXACT();
  const CUdeviceptr doomed = allocate(64 * kMiB);
  const CUarray doomed_array = makeArray();
  ASSERT_EQ(cu<Cu::cuCtxCreate_v3>(&second, static_cast<CUexecAffinityParam*>(nullptr), 0, 0u, 0),
            CUDA_SUCCESS);
  EXPECT_EXACT();
  const CUdeviceptr kept = allocate(32 * kMiB);
  const CUarray kept_array = makeArray();
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(first), CUDA_SUCCESS);
  EXPECT_EXACT();
  static_cast<void>(doomed);
  static_cast<void>(doomed_array);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(kept), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuArrayDestroy>(kept_array), CUDA_SUCCESS);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(second), CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_EQ(charged(), with_primary);
}

TEST_F(ContextTest, AttachAndDetach_I4ChargedUntilLastDetach) {
  if (outside()) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUcontext context = nullptr, again = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxAttach>(&again, 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxDetach>(context), CUDA_SUCCESS);
  EXPECT_GT(charged(), 0u);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuCtxDetach>(context), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EXACT();
}

TEST_F(ContextTest, ContextAboveShare_OutOfMemory) {
  if (outside({.ceiling = 300 * kMiB})) return;
  makeReady();
  CUcontext context = nullptr;
  EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EXACT();
}

TEST_F(ContextTest, CreationFails_ChargeRefunded) {
  if (outside()) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_NE(cu<Cu::cuCtxCreate_v2>(&context, 0xffffffffu, 0), CUDA_SUCCESS);
  EXPECT_NE(cu<Cu::cuDevicePrimaryCtxRetain>(static_cast<CUcontext*>(nullptr), 0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(reinterpret_cast<CUcontext>(&context)),
            CUDA_ERROR_INVALID_CONTEXT);
}

// A pod could make as many contexts as it liked, each of half a GiB, beside its share.
TEST_F(ContextTest, OneContextOutsideShare_FurtherOnesCharged) {
  Tenancy tenancy;
  tenancy.ceiling = 500 * kMiB;
  tenancy.one_outside = true;
  if (outside(tenancy)) return;
  makeReady();
  const std::uint64_t cost = booked();
  EXPECT_EQ(charged(), 0u);
  ASSERT_GT(3 * cost, tenancy.ceiling + cost);
  ASSERT_LT(2 * cost, tenancy.ceiling + cost);
  const auto expectShown = [&](std::uint64_t wanted_free) {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
    EXPECT_EQ(total, tenancy.ceiling);
    EXPECT_EQ(free_bytes, wanted_free);
  };
  expectShown(tenancy.ceiling);
  CUcontext second = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&second, 0u, 0), CUDA_SUCCESS);
  expectShown(tenancy.ceiling - cost);
  CUcontext third = nullptr;
  EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&third, 0u, 0), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
  expectShown(tenancy.ceiling);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(second), CUDA_SUCCESS);
  allocate(tenancy.ceiling);
  expectShown(0);
  EXPECT_EQ(charged(), tenancy.ceiling);
  EXPECT_EQ(booked(), tenancy.ceiling + cost);
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(ContextTest, OlderAgentContextsOutsideShare_NotCharged) {
  if (outside({.ceiling = 300 * kMiB, .context_outside = true})) return;
  makeReady();
  CUcontext context = nullptr;
  EXPECT_EQ(charged(), 0u);
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  allocate(290 * kMiB);
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
}

}  // namespace
}  // namespace divvy::interposer
