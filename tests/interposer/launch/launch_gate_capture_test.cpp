// Captures at the gate (DESIGN 4.4): a launch into a captured stream is no work yet, so it never
// waits and is never metered; and whatever we do, no capture is disturbed by us.
#include <atomic>
#include <thread>
#include <vector>

#include "gate_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;

class GateCaptureTest : public GateTest {
 protected:
  static CUstream stream(unsigned flags = 1) {
    CUstream made = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&made, flags), CUDA_SUCCESS);
    return made;
  }

  static CUresult beginGlobal(CUstream stream) {
    return cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }

  static CUstreamCaptureStatus statusOf(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cu<Cu::cuStreamIsCapturing>(stream, &status), CUDA_SUCCESS);
    return status;
  }

  // What PyTorch does beside a capture, for a while: launches, copies, stream-ordered memory.
  static void workBeside(CUcontext context, const std::atomic<bool>& over) {
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
    const CUstream mine = stream();
    CUdeviceptr target = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&target, std::size_t{kMiB}, mine), CUDA_SUCCESS);
    static std::uint32_t words[256];
    do {
      EXPECT_EQ(spin(20'000, mine), CUDA_SUCCESS);
      EXPECT_EQ(
          cu<Cu::cuMemcpyHtoDAsync_v2>(target, static_cast<const void*>(words), sizeof words, mine),
          CUDA_SUCCESS);
      CUdeviceptr block = 0;
      std::size_t free_bytes = 0, total = 0;
      EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{kMiB}, mine), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, mine), CUDA_SUCCESS);
    } while (!over);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(target, mine), CUDA_SUCCESS);
  }

  // Pools keep what they have, so that the variant whose pools grow by public calls needs none of
  // them during a capture.
  static void warmUpPool() {
    CUmemoryPool pool = nullptr;
    cuuint64_t threshold = ~cuuint64_t{0};
    CUdeviceptr block = 0;
    const CUstream warm = stream();
    ASSERT_EQ(cu<Cu::cuDeviceGetDefaultMemPool>(&pool, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&threshold)),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{64 * kMiB}, warm), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, warm), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuStreamSynchronize>(warm), CUDA_SUCCESS);
  }
};

TEST_F(GateCaptureTest, CapturedLaunches_NeitherWaitNorMetered) {
  if (outside()) return;
  makeReady();
  ASSERT_EQ(spin(1), CUDA_SUCCESS);  // loads the module
  CUdeviceptr target = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&target, std::size_t{kMiB}), CUDA_SUCCESS);
  grant(GateState::kHold);
  const CUstream captured = stream();
  ASSERT_EQ(beginGlobal(captured), CUDA_SUCCESS);
  EXPECT_EQ(control().open_captures, 1u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(spin(1000, captured), CUDA_SUCCESS);
  EXPECT_EQ(
      cu<Cu::cuMemsetD8Async>(target, static_cast<unsigned char>(7), std::size_t{kMiB}, captured),
      CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(control().open_captures, 0u);
  EXPECT_EQ(control().captured, 6u);
  EXPECT_EQ(control().metered, 0u);
  EXPECT_EQ(control().waits, 0u);

  CUgraphExec exec = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(context);
    return cu<Cu::cuGraphLaunch>(exec, captured);
  });
  EXPECT_TRUE(eventually([] { return line() && line()->waiting == 1; })) << "the graph is work";
  grant(GateState::kRun);
  EXPECT_TRUE(launcher.finishes());
  EXPECT_EQ(control().metered, 1u);
}

TEST_F(GateCaptureTest, GlobalCaptureWhileOthersWork_StaysActive) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  warmUpPool();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  grant(GateState::kRun);
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) others.emplace_back([&] { workBeside(context, over); });
  EXPECT_TRUE(eventually([] { return control().metered > 20; }));
  for (int round = 0; round < 10; ++round) {
    const CUstream captured = stream();
    ASSERT_EQ(beginGlobal(captured), CUDA_SUCCESS);
    const std::uint64_t before = control().metered;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(spin(1000, captured), CUDA_SUCCESS);
    EXPECT_TRUE(eventually([=] { return control().metered > before + 5; })) << "others go on";
    EXPECT_EQ(statusOf(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE) << "the capture was disturbed";
    CUgraph graph = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(captured), CUDA_SUCCESS);
  }
  over = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(control().captured, 200u);
  EXPECT_EQ(control().open_captures, 0u);
}

// A thread that is told to wait while it captures on another stream: the wait is the other
// stream's, and the capture is still there afterwards.
TEST_F(GateCaptureTest, OtherStreamWaits_CaptureStaysActive) {
  if (outside()) return;
  makeReady();
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  const CUstream captured = stream(), other = stream();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  ASSERT_EQ(beginGlobal(captured), CUDA_SUCCESS);
  grant(GateState::kHold);
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(context);
    return spin(1000, other);
  });
  EXPECT_TRUE(eventually([] { return line() && line()->waiting == 1; }));
  EXPECT_EQ(spin(1000, captured), CUDA_SUCCESS);
  grant(GateState::kRun);
  EXPECT_TRUE(launcher.finishes());
  EXPECT_TRUE(eventually([] { return (line()->state & ledger::kWorkInFlight) == 0; }));
  EXPECT_EQ(statusOf(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
}

// The driver refuses such a launch; it must say so at once.
TEST_F(GateCaptureTest, LegacyLaunchBesideCapture_DriversErrorAtOnce) {
  if (outside()) return;
  makeReady();
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  grant(GateState::kHold);
  const CUstream blocking = stream(0);
  ASSERT_EQ(beginGlobal(blocking), CUDA_SUCCESS);
  EXPECT_EQ(spin(1000), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(control().open_captures, 0u) << "one that was invalidated ends too";
  EXPECT_EQ(control().waits, 0u);
}

TEST_F(GateCaptureTest, CapturesEndInAnyWay_OpenCountExact) {
  if (outside()) return;
  makeReady();
  EXPECT_NE(beginGlobal(nullptr), CUDA_SUCCESS) << "the legacy stream cannot be captured";
  EXPECT_EQ(control().open_captures, 0u);
  CUgraph graph = nullptr;
  const CUstream plain = stream();
  EXPECT_NE(cu<Cu::cuStreamEndCapture>(plain, &graph), CUDA_SUCCESS);
  EXPECT_EQ(control().open_captures, 0u);

  ASSERT_EQ(beginGlobal(plain), CUDA_SUCCESS);
  EXPECT_NE(beginGlobal(plain), CUDA_SUCCESS) << "it is being captured already";
  EXPECT_EQ(control().open_captures, 1u);
  CUcontext primary = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&primary), CUDA_SUCCESS);
  std::thread([&] {
    cu<Cu::cuCtxSetCurrent>(primary);
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(plain, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(control().open_captures, 1u);
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(plain, &graph), CUDA_SUCCESS);
  EXPECT_EQ(control().open_captures, 0u);

  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  const CUstream doomed = stream();
  ASSERT_EQ(beginGlobal(doomed), CUDA_SUCCESS);
  EXPECT_EQ(control().open_captures, 1u);
  EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_EQ(control().open_captures, 0u) << "it died with its context";
}

}  // namespace
}  // namespace divvy::interposer
