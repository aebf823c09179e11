// What ends while work is in flight: threads, contexts, processes. And what would wait for itself.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gate_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;

using GateLifeTest = GateTest;

TEST_F(GateLifeTest, WaiterWithNothingInFlight_DoesNotEscape) {
  if (outside({.machine = "null"})) return;
  makeReady();
  terms().escape_ms = 20;
  grant(GateState::kHold);
  Launcher launcher;
  ASSERT_TRUE(eventually([] { return line() && line()->waiting == 1; }));
  EXPECT_FALSE(eventually([&] { return launcher.done(); }, std::chrono::milliseconds(300)));
  EXPECT_EQ(control().escapes, 0u);
  grant(GateState::kRun);
  EXPECT_TRUE(launcher.finishes());
}

TEST_F(GateLifeTest, HostFunctionsUnderHold_NeverWait) {
  if (outside()) return;
  makeReady();
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  grant(GateState::kHold);
  static std::atomic<int> calls{0};
  const CUhostFn function = [](void* data) {
    spin(1000, static_cast<CUstream>(data));
    ++calls;
  };
  const CUstreamCallback callback = [](CUstream at, CUresult, void* data) {
    EXPECT_EQ(at, static_cast<CUstream>(data));
    spin(1000, at);
    ++calls;
  };
  ASSERT_EQ(cu<Cu::cuLaunchHostFunc>(stream, function, static_cast<void*>(stream)), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamAddCallback>(stream, callback, static_cast<void*>(stream), 0u),
            CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return calls == 2; }));
  EXPECT_EQ(control().waits, 0u);
  EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(stream, CUhostFn{}, static_cast<void*>(nullptr)),
            CUDA_ERROR_INVALID_VALUE);
}

// In a graph a host function runs with every launch of it.
TEST_F(GateLifeTest, CapturedHostFunction_RunsOncePerGraphLaunch) {
  if (outside()) return;
  makeReady();
  grant(GateState::kRun);
  CUstream stream = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  static std::atomic<int> calls{0};
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(stream, CUhostFn{[](void*) { ++calls; }},
                                     static_cast<void*>(nullptr)),
            CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
  EXPECT_EQ(calls, 3);
}

TEST_F(GateLifeTest, SixHundredEndedThreads_HoldStillDrains) {
  if (outside({.machine = "null"})) return;
  makeReady();
  terms().inflight_us = 0;
  grant(GateState::kRun);
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(Launcher().finishes());
  EXPECT_EQ(control().metered, 600u);
  const std::uint64_t seq = grant(GateState::kHold);
  EXPECT_TRUE(eventually([=] { return line()->drained_seq >= seq || !inFlight(); }));
}

TEST_F(GateLifeTest, ContextDestroyedWithWorkInFlight_Drained) {
  if (outside()) return;
  makeReady();
  grant(GateState::kRun);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    std::uint64_t ns = 20'000'000;
    void* parameters[] = {&ns};
    ASSERT_EQ(cu<Cu::cuModuleLoadData>(
                  &module, static_cast<const void*>("simgpu-builtin 1\nkernel busy = spin\n")),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuModuleGetFunction>(&kernel, module, "busy"), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, CUstream{},
                                     static_cast<void**>(parameters), static_cast<void**>(nullptr)),
              CUDA_SUCCESS);
  }
  EXPECT_TRUE(eventually([] { return control().metered >= 1; }));
  EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return !inFlight(); }));
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
  makeReady();
}

TEST_F(GateLifeTest, ForkedChild_FreshCountersAndNoWait) {
  if (outside()) return;
  makeReady();
  Endless kernel;
  ASSERT_EQ(spin(1), CUDA_SUCCESS);  // loads the module
  grant(GateState::kRun);
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return control().metered >= 1; }));
  grant(GateState::kHold);
  const ledger::WorkSample before = *line();
  const pid_t child = ::fork();
  if (child == 0) {
    // No context came along: whatever the driver answers, nobody waits for a grant.
    ::alarm(20);
    const bool refused = spin(1000) != CUDA_SUCCESS;
    const bool fresh = control().metered == 0 && control().helper == 0 && !line().has_value();
    ::_exit(refused && fresh ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(line()->waits, before.waits) << "the parent's line is the parent's";
  kernel.end();
  EXPECT_TRUE(eventually([] { return !inFlight(); })) << "the parent's thread goes on";
}

// The handler is registered before the first metered launch, so it runs after our own.
TEST_F(GateLifeTest, ExitHandlerLaunchesUnderHold_DoesNotWait) {
  if (outside({.machine = "null"})) return;
  ::alarm(30);  // instead of a hang, a death that the parent reports
  makeReady();
  std::atexit([] { launch(); });
  grant(GateState::kRun);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  grant(GateState::kHold);
}

TEST_F(GateLifeTest, ExitWithWorkInFlightAndWaiter_ProcessEnds) {
  if (outside()) return;
  ::alarm(30);
  makeReady();
  static Endless* const kernel = new Endless;
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  grant(GateState::kRun);
  ASSERT_EQ(kernel->start(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return control().metered >= 1; }));
  grant(GateState::kHold);
  std::thread([context = kernel->context()] {
    cu<Cu::cuCtxSetCurrent>(context);
    spin(1000);
  }).detach();
  EXPECT_TRUE(eventually([] { return line()->waiting == 1; }));
}

}  // namespace
}  // namespace divvy::interposer
