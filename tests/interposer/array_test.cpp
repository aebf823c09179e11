// I4: arrays are charged by what the driver says that they need.
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class ArrayTest : public TenantTest {
 protected:
  // A driver older than 11.6 does not tell what an array needs: at least that much is charged.
  static void expectCharge() {
    if (isOldDriver()) {
      EXPECT_GE(charged(), booked());
    } else {
      EXPECT_EXACT();
    }
  }
  static CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height, std::size_t depth,
                                       unsigned flags = 0) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 4, flags};
  }
};

TEST_F(ArrayTest, ArraysOfEveryShape_I4ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  for (const auto& form :
       {shape(1000, 0, 0), shape(1001, 77, 0), shape(130, 50, 20),
        shape(64, 64, 6, CUDA_ARRAY3D_CUBEMAP), shape(64, 64, 10, CUDA_ARRAY3D_LAYERED)}) {
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, &form), CUDA_SUCCESS);
    EXPECT_GT(charged(), before);
    expectCharge();
    ASSERT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before);
    EXPECT_EXACT();
  }
}

TEST_F(ArrayTest, OlderCreateCalls_I3ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  CUarray a = nullptr, b = nullptr, c = nullptr;
  const CUDA_ARRAY_DESCRIPTOR plain{500, 20, CU_AD_FORMAT_HALF, 2};
  const CUDA_ARRAY_DESCRIPTOR_v1 plain_v1{500, 20, CU_AD_FORMAT_HALF, 2};
  const CUDA_ARRAY3D_DESCRIPTOR_v1 solid_v1{50, 20, 10, CU_AD_FORMAT_HALF, 2, 0};
  ASSERT_EQ(cu<Cu::cuArrayCreate_v2>(&a, &plain), CUDA_SUCCESS);
  expectCharge();
  ASSERT_EQ(cu<Cu::cuArrayCreate>(&b, &plain_v1), CUDA_SUCCESS);
  expectCharge();
  ASSERT_EQ(cu<Cu::cuArray3DCreate>(&c, &solid_v1), CUDA_SUCCESS);
  expectCharge();
  for (const CUarray array : {a, b, c}) ASSERT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(ArrayTest, MipmappedArrays_I4ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const auto form = shape(512, 512, 0);
  for (const unsigned levels : {1u, 4u, 10u}) {
    CUmipmappedArray array = nullptr;
    CUarray level = nullptr;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayCreate>(&array, &form, levels), CUDA_SUCCESS);
    expectCharge();
    ASSERT_EQ(cu<Cu::cuMipmappedArrayGetLevel>(&level, array, 0u), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMipmappedArrayDestroy>(array), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before);
    EXPECT_EXACT();
  }
}

TEST_F(ArrayTest, DeferredMappingArray_NotCharged) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const auto form = shape(4096, 4096, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
  CUarray array = nullptr;
  ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, &form), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
}

// Regression: the pool's handle was all that was charged, so releasing it gave its bytes back while
// the array still had them.
TEST_F(ArrayTest, TilePoolReleasedWhileMapped_I4StaysCharged) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  for (const bool by_context : {false, true}) {
    CUcontext context = nullptr;
    if (by_context) {
      ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
    }
    const auto form = shape(256, 256, 0, CUDA_ARRAY3D_SPARSE);
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, &form), CUDA_SUCCESS);
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle pool = 0;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&pool, std::size_t{2 * kMiB}, &prop, 0ull), CUDA_SUCCESS);
    CUarrayMapInfo whole{};
    whole.resourceType = CU_RESOURCE_TYPE_ARRAY;
    whole.resource.array = array;
    whole.subresource.sparseLevel = {0, 0, 0, 0, 0, 256, 256, 1};
    whole.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    whole.memHandle.memHandle = pool;
    whole.deviceBitMask = 1;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(cu<Cu::cuMemMapArrayAsync>(&whole, 1u, CUstream{nullptr}), CUDA_SUCCESS);
    }
    EXPECT_EXACT();
    ASSERT_EQ(cu<Cu::cuMemRelease>(pool), CUDA_SUCCESS);
    EXPECT_GE(charged(), before + 2 * kMiB);
    EXPECT_EXACT();
    if (by_context) {
      ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
      ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(CUcontext{nullptr}), CUDA_SUCCESS);
      makeReady();
    } else {
      ASSERT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
    }
    EXPECT_EQ(charged(), before);
    EXPECT_EXACT();
  }
}

TEST_F(ArrayTest, OverShareOrBadShape_S5DriversErrorCodes) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const auto huge = shape(16384, 16384, 0), bad = shape(0, 10, 0);
  CUarray array = nullptr;
  EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, &huge), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, &bad), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      cu<Cu::cuArray3DCreate_v2>(&array, static_cast<const CUDA_ARRAY3D_DESCRIPTOR*>(nullptr)),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
