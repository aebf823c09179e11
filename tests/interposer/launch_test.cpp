// I5, S4: every launch-like call passes the gate, once; and the capture scenario of S7.
#include <atomic>
#include <thread>
#include <vector>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr CUstream kNull = nullptr;

// Any entry point, called with enough zeros for its parameters; the `null` driver looks at none.
CUresult callWithZeros(const char* symbol) {
  using Zero = std::uint64_t;
  auto* const function = reinterpret_cast<CUresult (*)(Zero, Zero, Zero, Zero, Zero, Zero, Zero,
                                                       Zero, Zero, Zero, Zero, Zero)>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), symbol));
  return function == nullptr ? CUDA_ERROR_UNKNOWN : function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

class LaunchTest : public TenantTest {
 protected:
  static std::uint64_t launches() { return control().launches; }
  static bool isWork(const abi::Entry& entry) {
    const bool by_class = entry.cls == abi::Class::kLaunch || entry.cls == abi::Class::kCopy ||
                          entry.cls == abi::Class::kSet;
    const std::string base = abi::kCuFamilies[entry.family].base;
    // Who waits for a value keeps nobody from the card.
    if (base == "cuLaunchHostFunc" || base.rfind("cuStreamWaitValue", 0) == 0) return false;
    return by_class || base == "cuGraphLaunch";
  }
};

TEST_F(LaunchTest, EveryLaunchLikeCall_I5CountedOnce) {
  if (outside({.machine = "null"})) return;
  makeReady();
  std::size_t checked = 0;
  for (const abi::Entry& entry : abi::kCuEntries) {
    if (!isWork(entry) || !entry.wrapped) continue;
    if (isOldDriver() && entry.since > 11040) continue;
    const std::uint64_t before = launches();
    ASSERT_EQ(callWithZeros(entry.symbol), CUDA_SUCCESS) << entry.symbol;
    ASSERT_EQ(launches(), before + 1) << entry.symbol;
    ++checked;
  }
  EXPECT_GT(checked, isOldDriver() ? 100u : 130u);
}

// What the list leaves unwrapped among launches, copies and fills starts no work on the device.
TEST_F(LaunchTest, UnwrappedEntries_I5StartNoWork) {
  for (const abi::Entry& entry : abi::kCuEntries) {
    if (!isWork(entry) || entry.wrapped) continue;
    const std::string name = abi::kCuFamilies[entry.family].base;
    const bool harmless = name.rfind("cuParam", 0) == 0 || name.rfind("cuFuncSet", 0) == 0 ||
                          name.find("CopyAttributes") != std::string::npos;
    EXPECT_TRUE(harmless) << entry.symbol << " passes no gate";
  }
}

TEST_F(LaunchTest, ThreadsEnded_CountersAddUp) {
  if (outside({.machine = "null"})) return;
  makeReady();
  const std::uint64_t before = launches();
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) callWithZeros("cuLaunchKernel");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(launches(), before + 20'000);
}

TEST_F(LaunchTest, MoreThreadsThanLanes_EveryLaunchSucceeds) {
  if (outside({.machine = "null"})) return;
  makeReady();
  std::atomic<int> arrived{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 700; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(callWithZeros("cuLaunchKernel"), CUDA_SUCCESS);
      ++arrived;
      while (!go) std::this_thread::yield();
    });
  }
  while (arrived < 700) std::this_thread::yield();
  go = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GE(launches(), 511u);
}

class CaptureTest : public TenantTest {
 protected:
  static CUstream makeStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    return stream;
  }

  // The same script with and without a tenant: what the driver answers bare it answers here.
  static void captureWhileOthersAllocate(CUstreamCaptureMode mode) {
    makeReady();
    const CUstream captured = makeStream(), other = makeStream();
    CUcontext context = nullptr;
    CUdeviceptr target = 0;
    ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&target, std::size_t{kMiB}), CUDA_SUCCESS);
    // Makes the pool known, so that every later step has something to look after. It keeps what it
    // has: the variant that grows its pools by public calls may not do so during a global capture.
    CUdeviceptr block = 0;
    CUmemoryPool pool = nullptr;
    cuuint64_t threshold = ~cuuint64_t{0};
    ASSERT_EQ(cu<Cu::cuDeviceGetDefaultMemPool>(&pool, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&threshold)),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, other), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, other), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuStreamSynchronize>(other), CUDA_SUCCESS);

    ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(captured, mode), CUDA_SUCCESS);
    ASSERT_EQ(
        cu<Cu::cuMemsetD8Async>(target, static_cast<unsigned char>(7), std::size_t{kMiB}, captured),
        CUDA_SUCCESS);
    std::thread neighbour([&] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      CUdeviceptr mine = 0;
      std::size_t free_bytes = 0, total = 0;
      EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&mine, std::size_t{kMiB}, other), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemFreeAsync>(mine, other), CUDA_SUCCESS);
    });
    neighbour.join();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cu<Cu::cuStreamIsCapturing>(captured, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE) << "the capture was disturbed";
    CUgraph graph = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
    EXPECT_NE(graph, nullptr);
  }
};

TEST_F(CaptureTest, GlobalCapture_S7StaysActive) {
  if (outside()) return;
  captureWhileOthersAllocate(CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_F(CaptureTest, ThreadLocalCapture_S7StaysActive) {
  if (outside()) return;
  captureWhileOthersAllocate(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST_F(CaptureTest, RelaxedCapture_S7StaysActive) {
  if (outside()) return;
  captureWhileOthersAllocate(CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_F(CaptureTest, ScriptWithoutTenant_S7StaysActive) {
  if (outside({.tenant = false})) return;
  captureWhileOthersAllocate(CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_F(CaptureTest, AllocationInCapturedStream_S7NotCharged) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const CUstream stream = makeStream();
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{100 * kMiB}, stream), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, stream), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// Unsafe calls of the application fail and invalidate its capture exactly as they do bare.
TEST_F(CaptureTest, UnsafeCallInGlobalCapture_S7DriversErrors) {
  if (outside()) return;
  makeReady();
  const CUstream stream = makeStream();
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{kMiB}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{kMiB}), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(CaptureTest, CaptureModeExchanged_PutBackAfterCalls) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const CUstream stream = makeStream(), other = makeStream();
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    CUstreamCaptureMode exchanged = mode;
    ASSERT_EQ(cu<Cu::cuThreadExchangeStreamCaptureMode>(&exchanged), CUDA_SUCCESS);
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, other), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{8 * kGiB}, other),
              CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(cu<Cu::cuThreadExchangeStreamCaptureMode>(&exchanged), CUDA_SUCCESS);
    EXPECT_EQ(exchanged, mode);
  }
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
}

TEST_F(CaptureTest, LegacyStreamAllocationBesideCapture_DriversError) {
  if (outside()) return;
  makeReady();
  CUstream blocking = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&blocking, 0u), CUDA_SUCCESS);
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(blocking, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, kNull),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  cu<Cu::cuStreamEndCapture>(blocking, &graph);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
