// Contexts: the stack, primary contexts, what they cost.
#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class Contexts : public DriverTest {
 protected:
  static constexpr std::uint64_t kOverhead = 264 * kMiB;  // of the rtx4070 profile
};

TEST_F(Contexts, EachContext_ChargedUntilDestroyed) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 0U) << "cuInit makes no context";
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&first, 0U, 0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), kOverhead);
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&second, 0U, 0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 2 * kOverhead);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(second), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(first), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 0U);
  });
}

TEST_F(Contexts, ContextWithoutRoom_IsOutOfMemory) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    CUresult result = CUDA_SUCCESS;
    int made = 0;
    while (result == CUDA_SUCCESS && made < 1000) {
      result = cu<Cu::cuCtxCreate_v2>(&context, 0U, 0);
      if (result == CUDA_SUCCESS) ++made;
    }
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(booked(Charge::kContext), static_cast<std::uint64_t>(made) * kOverhead);
  });
}

TEST_F(Contexts, PrimaryContext_OneObjectRefCounted) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext a = nullptr;
    CUcontext b = nullptr;
    unsigned flags = 0;
    int active = -1;
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxGetState>(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&a, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&b, 0), CUDA_SUCCESS);
    EXPECT_EQ(a, b);
    EXPECT_EQ(booked(Charge::kContext), kOverhead);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), kOverhead);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 0U);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&a, 7), CUDA_ERROR_INVALID_DEVICE);
  });
}

TEST_F(Contexts, Reset_FreesMemoryKeepsReferences) {
  runReady([] {
    CUdeviceptr p = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&p, kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPlain), 0U);
    EXPECT_EQ(booked(Charge::kContext), 0U);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, kMiB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS) << "reset does not release";
  });
}

TEST_F(Contexts, CreateAndDestroy_PushAndPopCurrent) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext a = nullptr;
    CUcontext b = nullptr;
    CUcontext current = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxPopCurrent_v2>(&current), CUDA_ERROR_INVALID_CONTEXT);
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&a, 0U, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&b, 0U, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, b);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(b), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, a) << "destroying the current context pops it";
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(b), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(CUcontext{nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(cu<Cu::cuCtxPushCurrent_v2>(a), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxPopCurrent_v2>(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, a);
  });
}

TEST_F(Contexts, ContextDestroyed_ItsMemoryIsFreed) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 0), CUDA_SUCCESS);
    CUdeviceptr p = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&p, 5 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&p, 5 * kMiB, unsigned{CU_MEM_ATTACH_GLOBAL}),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
    EXPECT_EQ(readCard(std::getenv("SIMGPU_DIR"), 0)->used, 0U);
  });
}

TEST_F(Contexts, HeapLimit_ReservesMemory) {
  runReady([] {
    size_t value = 0;
    EXPECT_EQ(cu<Cu::cuCtxGetLimit>(&value, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
    EXPECT_EQ(value, 8 * kMiB);
    EXPECT_EQ(cu<Cu::cuCtxSetLimit>(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kModule), 56 * kMiB);
    EXPECT_EQ(cu<Cu::cuCtxSetLimit>(CU_LIMIT_MALLOC_HEAP_SIZE, 1000 * kGiB),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cu<Cu::cuCtxSetLimit>(CU_LIMIT_MALLOC_HEAP_SIZE, 8 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kModule), 0U);
    EXPECT_EQ(cu<Cu::cuCtxGetLimit>(&value, static_cast<CUlimit>(99)), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Contexts, SeveralSchedulingFlags_AreInvalid) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 3U, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0x8000U, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 9), CUDA_ERROR_INVALID_DEVICE);
  });
}

// A thread's stack has a part of fixed size and one on the heap.
TEST_F(Contexts, DeepStack_PopsInOrder) {
  runReady([] {
    CUcontext first = nullptr;
    CUcontext other = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&first), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&other, 0U, 0), CUDA_SUCCESS);
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(cu<Cu::cuCtxPushCurrent_v2>(i % 2 == 0 ? first : other), CUDA_SUCCESS);
    }
    for (int i = 39; i >= 0; --i) {
      CUcontext seen = nullptr;
      ASSERT_EQ(cu<Cu::cuCtxPopCurrent_v2>(&seen), CUDA_SUCCESS);
      EXPECT_EQ(seen, i % 2 == 0 ? first : other) << i;
    }
  });
}

}  // namespace
}  // namespace divvy::simgpu
