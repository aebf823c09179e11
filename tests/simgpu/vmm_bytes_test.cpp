// The bytes of mapped memory, as kernels and copies see them.
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class VmmBytes : public DriverTest {};

TEST_F(VmmBytes, FreshMemoryHoldsThePatternAlsoWhenReused) {
  runReady([] {
    for (int round = 0; round < 3; ++round) {
      const auto handle = create(2 * kUnit);
      const CUdeviceptr p = mapNew(2 * kUnit, handle);
      EXPECT_EQ(valueOf(p, 2 * kUnit), 0xd5) << "round " << round;
      EXPECT_EQ(fill(p + 100, kUnit, round), CUDA_SUCCESS);
      EXPECT_EQ(valueOf(p + 100, kUnit), round);
      EXPECT_EQ(valueOf(p, 100), 0xd5);
      EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{2 * kUnit}), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    }
  });
}

TEST_F(VmmBytes, TwoAddressesOfOneHandleAreTheSameBytes) {
  runReady([] {
    const auto handle = create(kUnit);
    const CUdeviceptr a = mapNew(kUnit, handle);
    const CUdeviceptr b = mapNew(kUnit, handle);
    EXPECT_NE(a, b);
    EXPECT_EQ(fill(a, kUnit, 0x31), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(b, kUnit), 0x31);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(a, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(b, kUnit), 0x31);
    EXPECT_EQ(booked(Charge::kVmm), kUnit);
  });
}

TEST_F(VmmBytes, ContentsStayWithTheHandleWhenAddressesChange) {
  runReady([] {
    const auto one = create(kUnit);
    const auto two = create(kUnit);
    const CUdeviceptr p = mapNew(kUnit, one);
    EXPECT_EQ(fill(p, kUnit, 1), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    ASSERT_EQ(map(p, kUnit, two), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, kUnit), 0xd5) << "other memory at the same address";
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    ASSERT_EQ(map(p, kUnit, one), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, kUnit), 1);
  });
}

TEST_F(VmmBytes, RangesOfSeveralMappingsAreOneToACopy) {
  runReady([] {
    const CUdeviceptr p = reserve(2 * kUnit);
    ASSERT_EQ(map(p, kUnit, create(kUnit)), CUDA_SUCCESS);
    ASSERT_EQ(map(p + kUnit, kUnit, create(kUnit)), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, 2 * kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(fill(p + kUnit - 1000, 2000, 0x44), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p + kUnit - 1000, 2000), 0x44);
    EXPECT_EQ(valueOf(p + kUnit + 1000, 1000), 0xd5);
  });
}

TEST_F(VmmBytes, WhatIsNotAllowedOrNotMappedIsRefused) {
  runReady([] {
    const CUdeviceptr p = reserve(3 * kUnit);
    EXPECT_NE(fill(p, 16, 1), CUDA_SUCCESS) << "only reserved";
    ASSERT_EQ(map(p, kUnit, create(kUnit)), CUDA_SUCCESS);
    EXPECT_NE(fill(p, 16, 1), CUDA_SUCCESS) << "access not set";
    EXPECT_EQ(valueOf(p, 16), -2);
    ASSERT_EQ(allow(p, kUnit, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, 16), 0xd5);
    EXPECT_NE(fill(p, 16, 1), CUDA_SUCCESS) << "read only";
    ASSERT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(fill(p, 16, 1), CUDA_SUCCESS);
    EXPECT_NE(fill(p + kUnit - 8, 16, 1), CUDA_SUCCESS) << "runs into what is not mapped";
    ASSERT_EQ(allow(p, kUnit, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, 16), -2) << "taken away again";
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, 16), -2) << "unmapped";
  });
}

TEST_F(VmmBytes, HostMemoryIsReadByTheDeviceAndTheHost) {
  runReady([] {
    CUmemAllocationProp prop = onDevice(0);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kUnit}, &prop, 0ULL), CUDA_SUCCESS);
    const CUdeviceptr p = mapNew(kUnit, handle);
    CUmemAccessDesc host = accessOf(0, kRw);
    host.location.type = CU_MEM_LOCATION_TYPE_HOST;
    ASSERT_EQ(cu<Cu::cuMemSetAccess>(p, size_t{kUnit}, &host, size_t{1}), CUDA_SUCCESS);
    std::memset(reinterpret_cast<void*>(p), 0x66, kUnit);
    EXPECT_EQ(valueOf(p, kUnit), 0x66);
    EXPECT_EQ(fill(p, 16, 0x67), CUDA_SUCCESS);
    EXPECT_EQ(*reinterpret_cast<unsigned char*>(p + 15), 0x67);
  });
}

// The driver's own kernel fill(u32* out, u64 count, u32 value) in the legacy stream.
CUresult launchFill(CUdeviceptr out, std::uint64_t count, std::uint32_t value) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  const void* image = "simgpu-builtin 1\nall\n";
  EXPECT_EQ(cu<Cu::cuModuleLoadData>(&module, image), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&kernel, module, static_cast<const char*>("fill")),
            CUDA_SUCCESS);
  void* parameters[] = {&out, &count, &value};
  void** none = nullptr;
  return cu<Cu::cuLaunchKernel>(kernel, 1U, 1U, 1U, 32U, 1U, 1U, 0U, CUstream{nullptr},
                                &parameters[0], none);
}

TEST_F(VmmBytes, UnmapWaitsForTheKernelsThatUseTheRange) {
  runReady([] {
    const auto handle = create(kUnit);
    const CUdeviceptr p = mapNew(kUnit, handle);
    for (std::uint32_t i = 1; i <= 20; ++i) {
      ASSERT_EQ(launchFill(p, kUnit / 4, i * 0x01010101U), CUDA_SUCCESS);
    }
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "none of them faulted";
    ASSERT_EQ(map(p, kUnit, handle), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, kUnit), 20);
  });
}

TEST_F(VmmBytes, AKernelThatTouchesAnUnmappedRangePoisonsItsContext) {
  runReady([] {
    const CUdeviceptr p = mapNew(kUnit, create(kUnit));
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(launchFill(p, 4, 1), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr q = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&q, size_t{1}), CUDA_ERROR_ILLEGAL_ADDRESS) << "sticky";
  });
}

}  // namespace
}  // namespace divvy::simgpu
