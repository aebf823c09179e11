// Work of other kinds than plain kernels, clocks that run at another speed, and ends in the middle.
#include <thread>

#include "meter_fixture.h"

namespace divvy::interposer {
namespace {

using simgpu::CardEngine;

class UsageMeterWorkTest : public MeterTest {
 protected:
  // A graph of `count` kernels, one after the other.
  static CUgraphExec graphOf(CUfunction kernel, std::uint64_t nanoseconds, int count) {
    const CUstream stream = makeStream();
    EXPECT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_SUCCESS);
    void* params[] = {&nanoseconds, nullptr};
    void** none = nullptr;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, +params, none),
                CUDA_SUCCESS);
    }
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
    return exec;
  }
};

TEST_F(UsageMeterWorkTest, LongGraphs_BusyWithinFivePercent) {
  if (elsewhere()) return;
  makeReady();
  const CUgraphExec exec = graphOf(builtin("spin"), kMilli, 200);
  const CUstream stream = makeStream();
  const Start since;
  for (int i = 0; i < 4; ++i) {
    admit(workOf<Cu::cuGraphLaunch>(exec, stream), 2 * kMilli);
    ASSERT_EQ((metered<Cu::cuGraphLaunch>(exec, stream)), CUDA_SUCCESS);
  }
  drain();
  expectExact(since, 5);
  EXPECT_NEAR(static_cast<double>(meter().usage().longest()), 200e6, 10e6 + since.slack());
}

TEST_F(UsageMeterWorkTest, AsyncCopies_BusyMatchesCopyEngine) {
  if (elsewhere()) return;
  makeReady();
  constexpr std::size_t kBytes = 64 * kMiB;
  CUdeviceptr target = 0;
  void* source = nullptr;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&target, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemHostAlloc>(&source, kBytes, 0u), CUDA_SUCCESS);
  const CUstream stream = makeStream();
  const Start since(CardEngine::kCopyIn);
  for (int i = 0; i < 40; ++i) {
    const auto* from = static_cast<const void*>(source);
    admit(workOf<Cu::cuMemcpyHtoDAsync_v2>(target, from, kBytes, stream), 20 * kMilli);
    ASSERT_EQ((metered<Cu::cuMemcpyHtoDAsync_v2>(target, from, kBytes, stream)), CUDA_SUCCESS);
  }
  drain();
  // Two or three times 4 ms too much, before the first of them was measured.
  expectExact(since, 15);
}

// Their calls may take longer than the card does, which is not to be told apart.
TEST_F(UsageMeterWorkTest, SynchronousCopies_BusyAtMostWallTime) {
  if (elsewhere()) return;
  makeReady();
  constexpr std::size_t kBytes = 16 * kMiB;
  CUdeviceptr source = 0;
  void* target = nullptr;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&source, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemHostAlloc>(&target, kBytes, 0u), CUDA_SUCCESS);
  const CUfunction kernel = builtin("spin");
  const std::uint64_t log = logged() + logged(CardEngine::kCopyOut), busy = meter().usage().busy(0);
  const std::uint64_t began = sys::now();
  for (int i = 0; i < 50; ++i) {
    spin(kernel, nullptr, kMilli);
    ASSERT_EQ((metered<Cu::cuMemcpyDtoH_v2>(target, source, kBytes)), CUDA_SUCCESS);
  }
  drain();
  const std::uint64_t wall = sys::now() - began;
  const std::uint64_t truth = logged() + logged(CardEngine::kCopyOut) - log;
  const std::uint64_t seen = meter().usage().busy(0) - busy;
  std::printf("  busy %.3f ms, the card's log %.3f ms, wall %.3f ms\n",
              static_cast<double>(seen) / 1e6, static_cast<double>(truth) / 1e6,
              static_cast<double>(wall) / 1e6);
  EXPECT_GE(seen, truth - truth / 50);
  EXPECT_LE(seen, wall);
}

TEST_F(UsageMeterWorkTest, SlowerCardClock_BusyWithinFivePercent) {
  Tenancy tenancy;
  tenancy.card_permille = 200;
  tenancy.environment["SIMGPU_TIME_SCALE"] = "0.2";
  if (elsewhere(tenancy)) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  const Start since;
  for (int i = 0; i < 500; ++i) spin(kernel, stream, 200 * kMicro, 10 * kMilli);
  drain();
  // The log is in the card's nanoseconds, of which five are one of ours.
  expectExact(since, 5, 0.2);
}

// Eleven seconds of the card's time: the base of its timeline moves on many times.
TEST_F(UsageMeterWorkTest, FasterCardClock_SecondsWithinFivePercent) {
  Tenancy tenancy;
  tenancy.card_permille = 20'000;
  tenancy.environment["SIMGPU_TIME_SCALE"] = "20";
  if (elsewhere(tenancy)) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  const Start since;
  for (int i = 0; i < 1'100; ++i) spin(kernel, stream, 10 * kMilli, 2 * kMilli);
  drain();
  expectExact(since, 5, 20);
}

TEST_F(UsageMeterWorkTest, ContextEndsWithWorkInFlight_MeterIdle) {
  if (elsewhere()) return;
  makeReady();
  for (int i = 0; i < 5; ++i) {
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
    noteContextChange();
    const CUfunction kernel = builtin("spin");
    const CUstream stream = makeStream();
    for (int j = 0; j < 10; ++j) spin(kernel, j % 2 == 0 ? stream : nullptr, kMilli, 100 * kMilli);
    EXPECT_FALSE(meter().usage().idle());
    meter().forgetContext(context);
    ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
    noteContextChange();
    meter().settle(sys::now());
    EXPECT_TRUE(meter().usage().idle());
  }
  // And others go on.
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  const Start since;
  for (int j = 0; j < 20; ++j) spin(kernel, stream, kMilli);
  drain();
  EXPECT_NEAR(static_cast<double>(meter().usage().busy(0) - since.busy), 20e6, 4e6 + since.slack());
}

TEST_F(UsageMeterWorkTest, StreamDestroyedInFlight_WithinTenPercent) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const Start since;
  for (int i = 0; i < 50; ++i) {
    const CUstream stream = makeStream();
    for (int j = 0; j < 4; ++j) spin(kernel, stream, 500 * kMicro, 20 * kMilli);
    meter().forgetStream(stream);
    ASSERT_EQ(cu<Cu::cuStreamDestroy_v2>(stream), CUDA_SUCCESS);
  }
  drain();
  expectExact(since, 10);
}

TEST_F(UsageMeterWorkTest, OpenCapture_NoEventsInGraph) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream captured = makeStream(), other = makeStream();
  for (int i = 0; i < 10; ++i) spin(kernel, captured, 100 * kMicro);
  runtime().captures_begun = true;
  runtime().captures.beginning();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  runtime().captures.begun(captured, context);
  // What the capturing stream still had in flight is settled, and others are metered.
  std::thread worker([&] {
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
    for (int i = 0; i < 100; ++i) spin(kernel, other, 100 * kMicro);
    for (int i = 0; i < 10; ++i) spin(kernel, nullptr, 100 * kMicro);
    drain();
  });
  worker.join();
  meter().mark();
  EXPECT_GT(meter().usage().unmetered(), 0u)
      << "the legacy stream is charged by estimate meanwhile";
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
  runtime().captures.ended(captured);
  std::size_t nodes = 0;
  ASSERT_EQ(cu<Cu::cuGraphGetNodes>(graph, static_cast<CUgraphNode*>(nullptr), &nodes),
            CUDA_SUCCESS);
  EXPECT_EQ(nodes, 0u);
  drain();
}

TEST_F(UsageMeterWorkTest, PerThreadStreams_BusyIsUnion) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  const Start since;
  std::atomic<std::uint64_t> held_up{0};
  const std::uint64_t began = sys::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const std::uint64_t before = heldUp();
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      std::uint64_t nanoseconds = 200 * kMicro;
      void* params[] = {&nanoseconds, nullptr};
      void** none = nullptr;
      for (int i = 0; i < 300; ++i) {
        admit(workOf<Cu::cuLaunchKernel_ptsz>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u,
                                              static_cast<CUstream>(nullptr), +params, none),
              2 * kMilli);
        EXPECT_EQ((metered<Cu::cuLaunchKernel_ptsz>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u,
                                                    static_cast<CUstream>(nullptr), +params, none)),
                  CUDA_SUCCESS);
      }
      meter().mark();
      held_up += heldUp() - before;
    });
  }
  for (auto& thread : threads) thread.join();
  drain();
  const std::uint64_t wall = sys::now() - began;
  const std::uint64_t seen = meter().usage().busy(0) - since.busy, truth = logged() - since.log;
  std::printf("  busy %.3f ms, the card's log %.3f ms, held up %.3f ms\n",
              static_cast<double>(seen) / 1e6, static_cast<double>(truth) / 1e6,
              static_cast<double>(held_up) / 1e6);
  EXPECT_GE(seen + held_up, truth - truth / 20);
  EXPECT_LE(seen, wall) << "not the sum of the streams";
}

TEST_F(UsageMeterWorkTest, TwoDevices_BusyCountedPerDevice) {
  Tenancy tenancy;
  tenancy.machine = "rtx4070x2";
  tenancy.devices = {0, 1};
  if (elsewhere(tenancy)) return;
  makeReady();
  const CUfunction first = builtin("spin");
  CUcontext contexts[2] = {};
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&contexts[0]), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&contexts[1], 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(contexts[1]), CUDA_SUCCESS);
  const CUfunction second = builtin("spin");
  const Start since;
  for (int i = 0; i < 100; ++i) {
    const bool one = i % 4 == 3;
    ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(contexts[one ? 1 : 0]), CUDA_SUCCESS);
    noteContextChange();
    spin(one ? second : first, nullptr, kMilli);
  }
  drain();
  EXPECT_NEAR(static_cast<double>(meter().usage().busy(0)), 75e6, 12e6 + since.slack());
  EXPECT_NEAR(static_cast<double>(meter().usage().busy(1)), 25e6, 8e6 + since.slack());
}

// It was charged by a first guess for ever, to the first card.
TEST_F(UsageMeterWorkTest, StreamNotOpened_OpenedByNextLaunch) {
  Tenancy tenancy;
  tenancy.machine = "rtx4070x2";
  tenancy.devices = {0, 1};
  if (elsewhere(tenancy)) return;
  makeReady();
  CUcontext second = nullptr;
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(second), CUDA_SUCCESS);
  noteContextChange();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  {
    const OpeningElsewhere opening(meter());
    for (int i = 0; i < 3; ++i) spin(kernel, stream, kMilli, 100 * kMilli);
    EXPECT_NE(meter().usage().unsettledOn(1), 0u);
    EXPECT_EQ(meter().usage().unsettledOn(0), 0u);
  }
  const Start since;
  for (int i = 0; i < 40; ++i) spin(kernel, stream, kMilli);
  drain();
  EXPECT_EQ(meter().usage().unmetered(), 3u);
  EXPECT_NEAR(static_cast<double>(meter().usage().busy(1)), 40e6, 8e6 + since.slack());
  EXPECT_EQ(meter().usage().busy(0), 0u);
}

TEST_F(UsageMeterWorkTest, FaultedContext_MeterDrains) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin"), trap = builtin("trap");
  const CUstream stream = makeStream();
  for (int i = 0; i < 5; ++i) spin(kernel, stream, kMilli, 50 * kMilli);
  void** none = nullptr;
  metered<Cu::cuLaunchKernel>(trap, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, none, none);
  for (int i = 0; i < 5; ++i) {
    metered<Cu::cuLaunchKernel>(trap, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, none, none);
  }
  drain();
  EXPECT_TRUE(meter().usage().idle());
}

TEST_F(UsageMeterWorkTest, RefusedLaunches_NotInFlight) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  void** none = nullptr;
  for (int i = 0; i < 300; ++i) {
    EXPECT_NE(
        (metered<Cu::cuLaunchKernel>(kernel, 0u, 1u, 1u, 32u, 1u, 1u, 0u, stream, none, none)),
        CUDA_SUCCESS);
  }
  drain();
  EXPECT_LT(meter().usage().busy(0), kMilli);
}

TEST_F(UsageMeterWorkTest, WorkBeforeGateClosed_InFlightUntilItEnds) {
  if (elsewhere()) return;
  if (isOldDriver()) GTEST_SKIP() << "SKIPPED: this driver has no cuCtxRecordEvent";
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream older = makeStream(), stream = makeStream();
  std::uint64_t nanoseconds = 50 * kMilli;
  void* params[] = {&nanoseconds, nullptr};
  void** none = nullptr;
  const std::uint64_t began = sys::now();
  ASSERT_EQ(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, older, +params, none),
            CUDA_SUCCESS);
  meter().resume();
  CUdeviceptr word = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&word, std::size_t{4}), CUDA_SUCCESS);
  ASSERT_EQ((metered<Cu::cuStreamWriteValue32>(stream, word, cuuint32_t{1}, 0u)), CUDA_SUCCESS);
  drain();
  EXPECT_GE(sys::now() - began, nanoseconds);
}

// The mark before it was taken for one that is late since the clock began, and the work in flight
// to last for half as long again.
TEST_F(UsageMeterWorkTest, FirstLaunchWaitsForOther_NotOverdue) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream(), other = makeStream();
  CUevent behind = nullptr;
  std::uint64_t nanoseconds = 50 * kMilli;
  void* params[] = {&nanoseconds, nullptr};
  void** none = nullptr;
  const std::uint64_t began = sys::now();
  ASSERT_EQ(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, other, +params, none),
            CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuEventCreate>(&behind, 2u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuEventRecord>(behind, other), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamWaitEvent>(stream, behind, 0u), CUDA_SUCCESS);
  spin(kernel, stream, kMilli);
  meter().settle(sys::now());
  const bool idle = meter().usage().idle();
  if (sys::now() - began < nanoseconds) {
    EXPECT_FALSE(idle);
  }
  EXPECT_LT(meter().usage().inflightUntil(), sys::now() + kPatience);
  drain();
}

// More was taken off what is in flight than had been put there: it never was nothing again.
TEST_F(UsageMeterWorkTest, WorkBeforeGateClosed_KnownBeforeAnyLaunch) {
  Tenancy tenancy;
  tenancy.card_permille = 200;
  tenancy.environment["SIMGPU_TIME_SCALE"] = "0.2";
  if (elsewhere(tenancy)) return;
  if (isOldDriver()) GTEST_SKIP() << "SKIPPED: this driver has no cuCtxRecordEvent";
  makeReady();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  std::uint64_t nanoseconds = 10 * kMilli;
  void* params[] = {&nanoseconds, nullptr};
  void** none = nullptr;
  meter().noteContext(context, 0);
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t began = sys::now();
    ASSERT_EQ(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, +params, none),
              CUDA_SUCCESS);
    meter().resume();
    EXPECT_TRUE(meter().watchOlder());
    const bool idle = meter().usage().idle();
    // Five times as long by our clock.
    if (sys::now() - began < 5 * nanoseconds) {
      EXPECT_FALSE(idle);
    }
    spin(kernel, stream, kMilli);
    drain();
    EXPECT_EQ(meter().usage().unsettled(), 0u);
  }
}

}  // namespace
}  // namespace divvy::interposer
