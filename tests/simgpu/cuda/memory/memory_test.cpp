// cuMemAlloc and its kin, as the driver documents them.
#include <csignal>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class Memory : public DriverTest {};

TEST_F(Memory, BeforeCuInit_IsNotInitialized) {
  run([] {
    CUdeviceptr p = 0;
    int n = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cu<Cu::cuDeviceGetCount>(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cu<Cu::cuDriverGetVersion>(&n), CUDA_SUCCESS) << "the version needs no cuInit";
    EXPECT_EQ(cu<Cu::cuInit>(1U), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Memory, WithoutContext_IsInvalidContext) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{512}), CUDA_ERROR_INVALID_CONTEXT);
    size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, &bytes), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(Memory, BadArguments_AreInvalidValue) {
  runReady([] {
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(static_cast<CUdeviceptr*>(nullptr), size_t{8}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{0x1000}), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1024}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p + 512), CUDA_ERROR_INVALID_VALUE) << "not its beginning";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_ERROR_INVALID_VALUE) << "freed twice";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{0}), CUDA_SUCCESS) << "NULL is freed in vain";
    size_t pitch = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocPitch_v2>(&p, &pitch, size_t{3}, size_t{4}, 3U),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAllocManaged>(&p, size_t{3}, 0U), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Memory, PlainAllocation_ChargedIn512ByteUnits) {
  runReady([] {
    struct Case {
      size_t asked;
      std::uint64_t charged;
    };
    for (const Case& c : {Case{1, 512}, Case{512, 512}, Case{513, 1024}, Case{kMiB - 1, kMiB},
                          Case{3 * kMiB + 1, 3 * kMiB + 512}, Case{kGiB, kGiB}}) {
      CUdeviceptr p = 0;
      const std::uint64_t before = freeBytes();
      ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&p, c.asked), CUDA_SUCCESS);
      EXPECT_EQ(p % 512, 0U);
      EXPECT_EQ(booked(Charge::kPlain), c.charged) << c.asked;
      EXPECT_EQ(before - freeBytes(), c.charged);
      CUdeviceptr base = 0;
      size_t bytes = 0;
      EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, p + c.asked - 1), CUDA_SUCCESS);
      EXPECT_EQ(base, p);
      EXPECT_EQ(bytes, c.asked) << "the range is what was asked for";
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
      EXPECT_EQ(booked(Charge::kPlain), 0U);
      EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, p), CUDA_ERROR_NOT_FOUND);
    }
  });
}

TEST_F(Memory, PitchRows_AlignedTo512) {
  runReady([] {
    CUdeviceptr p = 0;
    size_t pitch = 0;
    ASSERT_EQ(cu<Cu::cuMemAllocPitch_v2>(&p, &pitch, size_t{1000}, size_t{10}, 4U), CUDA_SUCCESS);
    EXPECT_EQ(pitch, 1024U);
    EXPECT_EQ(booked(Charge::kPlain), 10240U);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAllocPitch_v2>(&p, &pitch, SIZE_MAX, size_t{10}, 4U),
              CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(Memory, MoreThanFree_OutOfMemoryNothingChanged) {
  runReady([] {
    CUdeviceptr p = 0;
    size_t free_bytes = 0;
    size_t total = 0;
    ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, free_bytes + 512), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(freeBytes(), free_bytes);
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&p, free_bytes), CUDA_SUCCESS);
    EXPECT_EQ(freeBytes(), 0U);
    CUdeviceptr q = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&q, size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
    size_t device_total = 0;
    EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&device_total, 0), CUDA_SUCCESS);
    EXPECT_EQ(device_total, total);
  });
}

TEST_F(Memory, MemGetInfo_AllowsNullOutputs) {
  runReady([] {
    size_t* none = nullptr;
    size_t value = 0;
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(none, none), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(none, &value), CUDA_SUCCESS);
    EXPECT_GT(value, 0U);
  });
}

TEST_F(Memory, CallsBeforeCuda32_Return32BitAddresses) {
  runReady([] {
    CUdeviceptr_v1 p = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc>(&p, 1000U), CUDA_SUCCESS);
    EXPECT_NE(p, 0U);
    EXPECT_EQ(booked(Charge::kPlain), 1024U);
    unsigned total = 0;
    EXPECT_EQ(cu<Cu::cuMemGetInfo>(static_cast<unsigned*>(nullptr), &total), CUDA_SUCCESS);
    EXPECT_EQ(total, ~0U) << "more than 4 GiB saturates";
    EXPECT_EQ(cu<Cu::cuMemFree>(p), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPlain), 0U);
  });
}

TEST_F(Memory, DeviceMemory_HostAccessSegfaults) {
  DriverProcess process(environment(), [] {
    makeReady();
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{4096}), CUDA_SUCCESS);
    if (testing::Test::HasFailure()) return;
    signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it
    *reinterpret_cast<volatile char*>(p) = 1;
  });
  const int status = process.status();
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
}

TEST_F(Memory, ManagedMemory_HostUseIsUncharged) {
  runReady([] {
    CUdeviceptr p = 0;
    ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&p, 3 * kMiB, unsigned{CU_MEM_ATTACH_GLOBAL}),
              CUDA_SUCCESS);
    auto* bytes = reinterpret_cast<unsigned char*>(p);
    bytes[0] = 1;
    bytes[3 * kMiB - 1] = 2;
    EXPECT_EQ(bytes[0] + bytes[3 * kMiB - 1], 3);
    EXPECT_EQ(booked(Charge::kManaged), 0U);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
  });
}

TEST_F(Memory, PinnedHostMemory_TakesNothingOfCard) {
  runReady([] {
    const std::uint64_t before = freeBytes();
    void* p = nullptr;
    ASSERT_EQ(cu<Cu::cuMemAllocHost_v2>(&p, 64 * kMiB), CUDA_SUCCESS);
    static_cast<char*>(p)[0] = 1;
    CUdeviceptr d = 0;
    EXPECT_EQ(cu<Cu::cuMemHostGetDevicePointer_v2>(&d, p, 0U), CUDA_SUCCESS);
    EXPECT_EQ(d, reinterpret_cast<CUdeviceptr>(p)) << "one address space";
    EXPECT_EQ(freeBytes(), before);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(d), CUDA_ERROR_INVALID_VALUE) << "not device memory";
    EXPECT_EQ(cu<Cu::cuMemHostUnregister>(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_EQ(cu<Cu::cuMemFreeHost>(p), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFreeHost>(p), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Memory, RegisteredHostMemory_RegisteredOnce) {
  runReady([] {
    static char buffer[8192];
    ASSERT_EQ(cu<Cu::cuMemHostRegister_v2>(static_cast<void*>(buffer), sizeof buffer, 0U),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemHostRegister_v2>(static_cast<void*>(buffer + 100), size_t{10}, 0U),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_EQ(cu<Cu::cuMemFreeHost>(static_cast<void*>(buffer)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemHostUnregister>(static_cast<void*>(buffer)), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemHostUnregister>(static_cast<void*>(buffer)),
              CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

TEST_F(Memory, ForkedChild_IsNotInitialized) {
  runReady([] {
    const pid_t child = fork();
    if (child == 0) {
      CUdeviceptr p = 0;
      const bool refused = cu<Cu::cuInit>(0U) == CUDA_ERROR_NOT_INITIALIZED &&
                           cu<Cu::cuMemAlloc_v2>(&p, size_t{1}) == CUDA_ERROR_NOT_INITIALIZED;
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_SUCCESS) << "the parent goes on";
  });
}

TEST_F(Memory, KilledProcess_LeavesNothing) {
  DriverProcess holder(environment(), [] {
    makeReady();
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, 2 * kGiB), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  holder.hear();
  const auto before = readCard(dir(), 0);
  ASSERT_TRUE(before);
  EXPECT_GT(before->used, 2 * kGiB);
  holder.killNow();
  EXPECT_EQ(readCard(dir(), 0)->used, 0U);
}

}  // namespace
}  // namespace divvy::simgpu
