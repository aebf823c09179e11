// The bytes of mapped memory, as kernels and copies see them.
#include "exec_driver.h"
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class VmmBytes : public DriverTest {};

// A card that hands out memory in steps of 64 KiB.
class FineVmm : public VmmBytes {
 protected:
  static constexpr std::uint64_t kStep = 64 << 10;
  std::string profile() const override { return "swap"; }
};

TEST_F(VmmBytes, FreshOrReusedMemory_HoldsPattern) {
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

TEST_F(VmmBytes, TwoAddressesOfHandle_SameBytes) {
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

TEST_F(VmmBytes, Remapped_ContentsStayWithHandle) {
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

TEST_F(VmmBytes, AdjacentMappings_OneRangeToCopy) {
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

TEST_F(VmmBytes, NotAllowedOrMapped_IsRefused) {
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

TEST_F(VmmBytes, HostMemory_ReadByDeviceAndHost) {
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

int hostMapped() {
  int value = -1;
  const CUresult result = cu<Cu::cuDeviceGetAttribute>(
      &value, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, CUdevice{0});
  return result == CUDA_SUCCESS ? value : -2;
}

CUresult createOnNode(CUmemGenericAllocationHandle* handle) {
  CUmemAllocationProp prop = onDevice(0);
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  return cu<Cu::cuMemCreate>(handle, size_t{kUnit}, &prop, 0ULL);
}

TEST_F(VmmBytes, HostMemory_ReplacesCardsAtAddress) {
  runReady([] {
    EXPECT_EQ(hostMapped(), 1);
    CUmemGenericAllocationHandle there = create(kUnit);
    const CUdeviceptr p = mapNew(kUnit, there);
    EXPECT_EQ(fill(p, kUnit, 0x21), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(there), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
    CUmemGenericAllocationHandle host = 0;
    ASSERT_EQ(createOnNode(&host), CUDA_SUCCESS);
    ASSERT_EQ(map(p, kUnit, host), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, 16), -2) << "not before access is given";
    ASSERT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U) << "none of the card's memory";
    EXPECT_EQ(valueOf(p, kUnit), 0);
    EXPECT_EQ(fill(p, kUnit, 0x22), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p, kUnit), 0x22);
  });
}

TEST_F(VmmBytes, DriverWithoutHostMap_SaysSo) {
  runReady(
      [] {
        EXPECT_EQ(hostMapped(), 0);
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(createOnNode(&handle), CUDA_ERROR_NOT_SUPPORTED);
        EXPECT_NE(create(kUnit), 0U);
      },
      {{"SIMGPU_FAULTS", "no-host-map"}});
  runReady([] { EXPECT_EQ(hostMapped(), -2) << "an attribute that it has never heard of"; },
           {{"SIMGPU_DRIVER_VERSION", "12080"}});
}

TEST_F(FineVmm, SizesAndAddresses_MultiplesOfStep) {
  runReady([] {
    const CUmemAllocationProp prop = onDevice(0);
    size_t step = 0;
    EXPECT_EQ(cu<Cu::cuMemGetAllocationGranularity>(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              CUDA_SUCCESS);
    EXPECT_EQ(step, kStep);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kStep / 2}, &prop, 0ULL),
              CUDA_ERROR_INVALID_VALUE);
    handle = create(kStep);
    EXPECT_EQ(booked(Charge::kVmm), kStep);
    const CUdeviceptr p = reserve(3 * kStep);
    EXPECT_EQ(p % kStep, 0U);
    EXPECT_EQ(map(p + kStep / 2, kStep, handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(map(p, kStep / 2, handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(map(p + kStep, kStep, handle), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p + kStep, size_t{kStep}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
    EXPECT_EQ(cu<Cu::cuMemAddressFree>(p, size_t{3 * kStep}), CUDA_SUCCESS);
  });
}

TEST_F(FineVmm, NeighboursInPage_KeepOwnBytes) {
  runReady([] {
    const CUdeviceptr p = reserve(32 * kStep);
    std::vector<CUmemGenericAllocationHandle> handles;
    for (std::uint64_t i = 0; i < 32; ++i) {
      handles.push_back(create(kStep));
      ASSERT_EQ(map(p + i * kStep, kStep, handles[i]), CUDA_SUCCESS);
    }
    ASSERT_EQ(allow(p, 32 * kStep, kRw), CUDA_SUCCESS);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(fill(p + i * kStep, kStep, i), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p + 7 * kStep, size_t{kStep}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handles[7]), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 31 * kStep);
    EXPECT_EQ(valueOf(p + 7 * kStep, 1), -2);
    const auto fresh = create(kStep);
    ASSERT_EQ(map(p + 7 * kStep, kStep, fresh), CUDA_SUCCESS);
    ASSERT_EQ(allow(p + 7 * kStep, kStep, kRw), CUDA_SUCCESS);
    EXPECT_EQ(valueOf(p + 7 * kStep, kStep), 0xd5);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(valueOf(p + i * kStep, kStep), i == 7 ? 0xd5 : i);
  });
}

// The driver's own kernel fill(u32* out, u64 count, u32 value) in the legacy stream.
CUresult launchFill(CUdeviceptr out, std::uint64_t count, std::uint32_t value) {
  return launch(builtin("fill"), CUstream{nullptr}, out, count, value);
}

TEST_F(VmmBytes, Unmap_DoesNotWaitForKernels) {
  runReady([] {
    const CUdeviceptr p = mapNew(kUnit, create(kUnit));
    Gate gate(nullptr);
    ASSERT_EQ(launchFill(p, kUnit / 4, 0x14141414), CUDA_SUCCESS);
    std::atomic<bool> unmapped{false};
    OtherThread thread([&] {
      EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
      unmapped = true;
    });
    EXPECT_TRUE(eventually([&] { return unmapped.load(); })) << "the kernel cannot end before it";
    gate.open();
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_ILLEGAL_ADDRESS) << "sticky";
  });
}

TEST_F(FineVmm, KernelOnHostMemory_TakesLinkTime) {
  runReady([] {
    constexpr std::uint64_t kBytes = 4 * kMiB;
    CUmemAllocationProp prop = onDevice(0);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kBytes}, &prop, 0ULL), CUDA_SUCCESS);
    const CUdeviceptr far = mapNew(kBytes, handle);
    const CUdeviceptr near = mapNew(kBytes, create(kBytes));
    std::uint64_t before = 0;
    const auto costOf = [&](const char* kernel, auto... arguments) {
      EXPECT_EQ(launch(builtin(kernel), CUstream{nullptr}, arguments...), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
      const auto view = readIntervals(std::getenv("SIMGPU_DIR"), 0);
      if (!view) return ~std::uint64_t{0};
      const auto all = busyWithin(*view, getpid(), CardEngine::kCompute, 0, UINT64_MAX);
      const std::uint64_t cost = all - before;
      before = all;
      return cost;
    };
    constexpr std::uint64_t kAsDeclared = 100'000;
    EXPECT_EQ(costOf("touch", near, kBytes, kAsDeclared), kAsDeclared);
    EXPECT_EQ(costOf("touch", far, kBytes, kAsDeclared), kBytes) << "a nanosecond for a byte";
    EXPECT_EQ(costOf("touch", far, kMiB, 8 * kMiB), 8 * kMiB) << "it computes longer than that";
    EXPECT_EQ(costOf("copy", near, far, kBytes), kBytes);
    EXPECT_EQ(costOf("copy", far, far, kBytes), 2 * kBytes);
    EXPECT_EQ(costOf("fill", far, kBytes / 4, 1U), kBytes);
  });
}

TEST_F(VmmBytes, KernelEndedBeforeUnmap_AllBytesWritten) {
  runReady([] {
    constexpr std::uint64_t kBytes = 32 * kUnit;
    CUmemAllocationProp prop = onDevice(0);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kBytes}, &prop, 0ULL), CUDA_SUCCESS);
    const CUdeviceptr p = mapNew(kBytes, handle);
    const CUdeviceptr seen = mapNew(kBytes, handle);
    CUmemAccessDesc host = accessOf(0, kRw);
    host.location.type = CU_MEM_LOCATION_TYPE_HOST;
    ASSERT_EQ(cu<Cu::cuMemSetAccess>(seen, size_t{kBytes}, &host, size_t{1}), CUDA_SUCCESS);
    auto* words = reinterpret_cast<std::uint32_t*>(seen);
    ASSERT_EQ(launchFill(p, kBytes / 4, 0x15151515), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([&] { return std::atomic_ref(words[0]).load() != 0; }))
        << "its effect is being written";
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kBytes}), CUDA_SUCCESS);
    EXPECT_EQ(words[kBytes / 4 - 1], 0x15151515U);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  });
}

TEST_F(VmmBytes, KernelOnUnmappedRange_PoisonsContext) {
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
