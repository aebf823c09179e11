// Managed memory: where it lives, and advice.
#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class Managed : public DriverTest {
 protected:
  static CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocManaged>(&p, bytes, unsigned{CU_MEM_ATTACH_GLOBAL}), CUDA_SUCCESS);
    return p;
  }
  static CUresult prefetch(CUdeviceptr p, size_t bytes, CUdevice to) {
    const CUresult result = cu<Cu::cuMemPrefetchAsync>(p, bytes, to, CUstream{nullptr});
    if (result == CUDA_SUCCESS) cu<Cu::cuCtxSynchronize>();
    return result;
  }
};

TEST_F(Managed, Prefetch_MovesPagesAndCharge) {
  runReady([] {
    const CUdeviceptr p = allocate(8 * kMiB);
    EXPECT_EQ(booked(Charge::kManaged), 0U);
    EXPECT_EQ(prefetch(p, 8 * kMiB, 0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kManaged), 8 * kMiB);
    EXPECT_EQ(prefetch(p, 2 * kMiB, CUdevice{CU_DEVICE_CPU}), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kManaged), 6 * kMiB);
    int last = 0;
    EXPECT_EQ(
        cu<Cu::cuMemRangeGetAttribute>(static_cast<void*>(&last), sizeof last,
                                       CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8 * kMiB),
        CUDA_SUCCESS);
    EXPECT_EQ(last, -1);
    EXPECT_EQ(prefetch(p, 16 * kMiB, 0), CUDA_ERROR_INVALID_VALUE) << "beyond the allocation";
    EXPECT_EQ(prefetch(p, kMiB, 5), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kManaged), 0U);
  });
}

TEST_F(Managed, MoreThanCardHolds_StaysPartlyOnHost) {
  runReady([] {
    CUdeviceptr rest = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&rest, freeBytes() - 8 * kMiB), CUDA_SUCCESS);
    const CUdeviceptr p = allocate(16 * kMiB);
    EXPECT_EQ(prefetch(p, 16 * kMiB, 0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kManaged), 8 * kMiB);
    const CUdeviceptr q = allocate(4 * kMiB);
    EXPECT_EQ(prefetch(q, 4 * kMiB, 0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kManaged), 8 * kMiB) << "another allocation's pages made room";
  });
}

TEST_F(Managed, Advice_IsRemembered) {
  runReady([] {
    const CUdeviceptr p = allocate(2 * kMiB);
    const auto attribute = [p](CUmem_range_attribute which) {
      int value = 99;
      EXPECT_EQ(cu<Cu::cuMemRangeGetAttribute>(static_cast<void*>(&value), sizeof value, which, p,
                                               2 * kMiB),
                CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), -2) << "none was set";
    EXPECT_EQ(cu<Cu::cuMemAdvise>(p, 2 * kMiB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
    EXPECT_EQ(cu<Cu::cuMemAdvise>(p, 2 * kMiB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
    EXPECT_EQ(attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    CUdeviceptr plain = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, 2 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAdvise>(plain, 2 * kMiB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
              CUDA_ERROR_INVALID_VALUE)
        << "not managed";
  });
}

}  // namespace
}  // namespace divvy::simgpu
