// Streams: order, default streams, host functions, waits.
#include <sys/resource.h>

#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Stream : public DriverTest {};

constexpr CUstream kNull = nullptr;
CUstream legacyHandle() {
  return reinterpret_cast<CUstream>(kStreamLegacy);
}
CUstream perThreadHandle() {
  return reinterpret_cast<CUstream>(kStreamPerThread);
}

TEST_F(Stream, OneStream_TimedBackToBack) {
  runReady([] {
    const CUstream s = makeStream();
    Gate gate(s);
    const CUevent a = recordedIn(s);
    EXPECT_EQ(spin(s, 3 * kMillisecond), CUDA_SUCCESS);
    const CUevent b = recordedIn(s);
    EXPECT_EQ(spin(s, 5 * kMillisecond), CUDA_SUCCESS);
    const CUevent c = recordedIn(s);
    gate.open();
    EXPECT_FLOAT_EQ(elapsed(b, c), 5.0F) << "computed, however late this thread woke";
    EXPECT_FLOAT_EQ(elapsed(a, b), 3.0F);
    EXPECT_FLOAT_EQ(elapsed(c, b), -5.0F);
  });
}

// Which default stream waits for which other stream, as the programming guide's table has it.
TEST_F(Stream, LegacyStream_OrderedWithBlockingOnly) {
  runReady([] {
    const CUstream blocking = makeStream(CU_STREAM_DEFAULT);
    const CUstream free_one = makeStream(CU_STREAM_NON_BLOCKING);
    struct Case {
      const char* what;
      CUstream first;
      CUstream second;
      bool ordered;
    };
    const Case cases[] = {
        {"blocking then legacy", blocking, kNull, true},
        {"legacy then blocking", kNull, blocking, true},
        {"legacy by handle then blocking", legacyHandle(), blocking, true},
        {"non-blocking then legacy", free_one, kNull, false},
        {"legacy then non-blocking", kNull, free_one, false},
        {"blocking then non-blocking", blocking, free_one, false},
        {"per-thread then legacy", perThreadHandle(), kNull, true},
        {"legacy then per-thread", kNull, perThreadHandle(), true},
        {"per-thread then blocking", perThreadHandle(), blocking, false},
        {"non-blocking then per-thread", free_one, perThreadHandle(), false},
    };
    auto* flag = pinned<std::uint32_t>();
    const CUfunction until = builtin("spin_until");
    for (const Case& c : cases) {
      *flag = 0;
      EXPECT_EQ(launch(until, c.first, deviceView(flag), 1U), CUDA_SUCCESS);
      const CUevent behind = recordedIn(c.second);
      if (c.ordered) {
        EXPECT_EQ(cu<Cu::cuEventQuery>(behind), CUDA_ERROR_NOT_READY) << c.what;
      } else {
        EXPECT_EQ(cu<Cu::cuEventSynchronize>(behind), CUDA_SUCCESS) << c.what;
        EXPECT_EQ(cu<Cu::cuStreamQuery>(c.first), CUDA_ERROR_NOT_READY) << c.what;
      }
      std::atomic_ref(*flag).store(1);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    }
  });
}

TEST_F(Stream, PerThreadEntryPoints_UseThreadsStream) {
  runReady([] {
    unsigned long long ids[4] = {};
    EXPECT_EQ(cu<Cu::cuStreamGetId>(kNull, &ids[0]), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamGetId_ptsz>(kNull, &ids[1]), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamGetId>(perThreadHandle(), &ids[2]), CUDA_SUCCESS);
    inOtherThread([&] { EXPECT_EQ(cu<Cu::cuStreamGetId_ptsz>(kNull, &ids[3]), CUDA_SUCCESS); });
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_EQ(ids[1], ids[2]);
    EXPECT_NE(ids[1], ids[3]);
  });
}

TEST_F(Stream, EventWaits_OrderAcrossContextsAndDevices) {
  runReady(
      [] {
        CUcontext contexts[3] = {};
        EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&contexts[0]), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&contexts[1], 0U, 0), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&contexts[2], 0U, 1), CUDA_SUCCESS);
        for (CUcontext other : contexts) {
          EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(contexts[0]), CUDA_SUCCESS);
          const CUstream first = makeStream();
          const CUevent before = recordedIn(first);
          EXPECT_EQ(launch(builtin("spin"), first, 4 * kMillisecond), CUDA_SUCCESS);
          const CUevent event = recordedIn(first);
          EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(other), CUDA_SUCCESS);
          const CUstream second = makeStream();
          EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(second, event, 0U), CUDA_SUCCESS);
          EXPECT_EQ(sync(second), CUDA_SUCCESS);
          EXPECT_EQ(cu<Cu::cuEventQuery>(event), CUDA_SUCCESS) << "what was waited for has ended";
          EXPECT_GE(elapsed(before, event), 4.0F);
        }
      },
      {{"SIMGPU_PROFILE", "rtx4070x2"}});
}

TEST_F(Stream, HostFunction_HoldsItsStreamOnly) {
  runReady([] {
    struct State {
      std::atomic<int> ran{0};
      std::atomic<bool> let_go{false};
    } state;
    const CUstream s = makeStream();
    const CUstream other = makeStream();
    EXPECT_EQ(spin(s, kMillisecond), CUDA_SUCCESS);
    const CUhostFn hold = [](void* data) {
      auto* shared = static_cast<State*>(data);
      shared->ran = 1;
      while (!shared->let_go) std::this_thread::yield();
    };
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(s, hold, static_cast<void*>(&state)), CUDA_SUCCESS);
    const CUevent behind = recordedIn(s);
    ASSERT_TRUE(eventually([&] { return state.ran == 1; }));
    EXPECT_EQ(cu<Cu::cuEventQuery>(behind), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(spin(other, 1000), CUDA_SUCCESS);
    EXPECT_EQ(sync(other), CUDA_SUCCESS) << "other streams go on meanwhile";
    state.let_go = true;
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventQuery>(behind), CUDA_SUCCESS);
  });
}

TEST_F(Stream, HostFunction_SeesEarlierEffects) {
  runReady([] {
    const CUstream s = makeStream();
    const CUdeviceptr data = allocate(4);
    auto* seen = pinned<std::uint32_t>(2);
    EXPECT_EQ(launch(builtin("fill"), s, data, std::uint64_t{1}, 77U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(seen), data, size_t{4}, s),
              CUDA_SUCCESS);
    const CUhostFn copy = [](void* p) {
      static_cast<std::uint32_t*>(p)[1] = static_cast<std::uint32_t*>(p)[0];
    };
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(s, copy, static_cast<void*>(seen)), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(seen[1], 77U);
  });
}

TEST_F(Stream, HostFunction_DriverCallNotPermitted) {
  runReady([] {
    std::atomic<int> result{-1};
    const CUhostFn call = [](void* out) {
      CUdeviceptr p = 0;
      static_cast<std::atomic<int>*>(out)->store(cu<Cu::cuMemAlloc_v2>(&p, size_t{64}));
    };
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(kNull, call, static_cast<void*>(&result)), CUDA_SUCCESS);
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  });
}

TEST_F(Stream, Callback_GetsStreamAndStatus) {
  runReady([] {
    struct Seen {
      CUstream stream = nullptr;
      std::atomic<int> status{-1};
    } seen;
    const CUstream s = makeStream();
    const CUstreamCallback callback = [](CUstream stream, CUresult status, void* data) {
      static_cast<Seen*>(data)->stream = stream;
      static_cast<Seen*>(data)->status = status;
    };
    EXPECT_EQ(cu<Cu::cuStreamAddCallback>(s, callback, static_cast<void*>(&seen), 1U),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuStreamAddCallback>(s, callback, static_cast<void*>(&seen), 0U),
              CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(seen.stream, s);
    EXPECT_EQ(seen.status, CUDA_SUCCESS);
  });
}

TEST_F(Stream, MemoryWords_HoldAndReleaseStreams) {
  runReady([] {
    struct Case {
      unsigned flags;
      std::uint32_t before, value, after;
    };
    const Case cases[] = {{CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 6},
                          {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 5, 5},
                          {CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5},
                          {CU_STREAM_WAIT_VALUE_AND, 2, 5, 4},
                          {CU_STREAM_WAIT_VALUE_NOR, 0xfffffffa, 5, 0}};
    for (const Case& c : cases) {
      const CUdeviceptr word = upload(std::vector<std::uint32_t>{c.before});
      const CUstream waiting = makeStream();
      const CUstream writing = makeStream();
      EXPECT_EQ(cu<Cu::cuStreamWaitValue32_v2>(waiting, word, c.value, c.flags), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuStreamQuery>(waiting), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(cu<Cu::cuStreamWriteValue32_v2>(writing, word, c.after, 0U), CUDA_SUCCESS);
      EXPECT_EQ(sync(waiting), CUDA_SUCCESS);
      EXPECT_EQ(download<std::uint32_t>(word, 1)[0], c.after);
    }
    const CUdeviceptr wide = upload(std::vector<std::uint64_t>{1});
    EXPECT_EQ(cu<Cu::cuStreamWriteValue64_v2>(kNull, wide, cuuint64_t{1} << 40, 0U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWaitValue64_v2>(kNull, wide, cuuint64_t{1} << 40, 0U), CUDA_SUCCESS);
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWaitValue32_v2>(kNull, CUdeviceptr{64}, 1U, 0U),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Stream, SpinningKernel_EndsWhenHostWrites) {
  runReady([] {
    auto* flag = pinned<std::uint32_t>();
    const CUstream s = makeStream();
    const CUstream beside = makeStream();
    EXPECT_EQ(launch(builtin("spin_until"), s, deviceView(flag), 9U), CUDA_SUCCESS);
    EXPECT_EQ(spin(beside, 1000), CUDA_SUCCESS);
    EXPECT_EQ(sync(beside), CUDA_SUCCESS) << "small kernels of one context run side by side";
    EXPECT_EQ(cu<Cu::cuStreamQuery>(s), CUDA_ERROR_NOT_READY);
    std::atomic_ref(*flag).store(9);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
  });
}

// The hardware queue: the 1025th launch waits for the first to end.
TEST_F(Stream, PendingLaunches1024_LaunchBlocks) {
  runReady([] {
    auto* flag = pinned<std::uint32_t>();
    const CUstream s = makeStream();
    EXPECT_EQ(launch(builtin("spin_until"), s, deviceView(flag), 1U), CUDA_SUCCESS);
    const CUfunction f = builtin("spin");
    std::atomic<int> launched{1};
    {
      OtherThread thread([&] {
        for (int i = 0; i < 1500; ++i) {
          EXPECT_EQ(launch(f, s, std::uint64_t{100}), CUDA_SUCCESS);
          ++launched;
        }
      });
      EXPECT_TRUE(eventually([&] { return launched == 1024; }));
      // Other streams' work that is no launch still passes.
      const CUdeviceptr data = allocate(64);
      EXPECT_EQ(
          cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(flag + 8), data, size_t{4}, makeStream()),
          CUDA_SUCCESS);
      EXPECT_EQ(launched, 1024);
      std::atomic_ref(*flag).store(1);
    }
    EXPECT_EQ(launched, 1501);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
  });
}

TEST_F(Stream, DestroyedStream_LegacyStreamStillWaits) {
  runReady([] {
    auto* flag = pinned<std::uint32_t>();
    const CUstream s = makeStream(CU_STREAM_DEFAULT);
    EXPECT_EQ(launch(builtin("spin_until"), s, deviceView(flag), 1U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu<Cu::cuStreamQuery>(s), CUDA_ERROR_INVALID_HANDLE);
    const CUevent behind = recordedIn(kNull);
    EXPECT_EQ(cu<Cu::cuEventQuery>(behind), CUDA_ERROR_NOT_READY);
    std::atomic_ref(*flag).store(1);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(behind), CUDA_SUCCESS);
  });
}

TEST_F(Stream, PriorityFlagsAttributes_AreAsAsked) {
  runReady([] {
    int least = 1;
    int most = 1;
    EXPECT_EQ(cu<Cu::cuCtxGetStreamPriorityRange>(&least, &most), CUDA_SUCCESS);
    EXPECT_EQ(least, 0);
    EXPECT_LT(most, least);
    CUstream urgent = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreateWithPriority>(&urgent, 1U, -100), CUDA_SUCCESS);
    int priority = 1;
    unsigned flags = 9;
    EXPECT_EQ(cu<Cu::cuStreamGetPriority>(urgent, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, most) << "clamped to the range";
    EXPECT_EQ(cu<Cu::cuStreamGetFlags>(urgent, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, 1U);
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&urgent, 2U), CUDA_ERROR_INVALID_VALUE);
    CUdevice device = -1;
    CUcontext context = nullptr;
    CUcontext current = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamGetDevice>(kNull, &device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cu<Cu::cuStreamGetCtx>(kNull, &context), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&current), CUDA_SUCCESS);
    EXPECT_EQ(context, current);
    CUstreamAttrValue value{};
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    const CUstream s = makeStream();
    EXPECT_EQ(cu<Cu::cuStreamSetAttribute>(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                                           static_cast<const CUstreamAttrValue*>(&value)),
              CUDA_SUCCESS);
    value = {};
    EXPECT_EQ(cu<Cu::cuStreamGetAttribute>(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
              CUDA_SUCCESS);
    EXPECT_EQ(value.syncPolicy, CU_SYNC_POLICY_YIELD);
  });
}

TEST_F(Stream, UrgentStream_Overtakes) {
  runReady([] {
    CUstream urgent = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreateWithPriority>(&urgent, 1U, -5), CUDA_SUCCESS);
    const CUstream s = makeStream();
    EXPECT_EQ(spin(s, 200 * kMillisecond), CUDA_SUCCESS);
    const CUevent slow = recordedIn(s);
    Gate gate(urgent);
    const CUevent from = recordedIn(urgent);
    EXPECT_EQ(spin(urgent, kMillisecond), CUDA_SUCCESS);
    const CUevent to = recordedIn(urgent);
    gate.open();
    EXPECT_FLOAT_EQ(elapsed(from, to), 1.0F);
    EXPECT_EQ(cu<Cu::cuEventQuery>(slow), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
  });
}

TEST_F(Stream, InvalidHandles_AreRefused) {
  runReady([] {
    int x = 0;
    const auto wild = reinterpret_cast<CUstream>(&x);
    EXPECT_EQ(sync(wild), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu<Cu::cuStreamCreate>(static_cast<CUstream*>(nullptr), 0U),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(kNull, CUhostFn{nullptr}, static_cast<void*>(nullptr)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(kNull, reinterpret_cast<CUevent>(&x), 0U),
              CUDA_ERROR_INVALID_HANDLE);
  });
}

// A kernel that only takes time burns no CPU, neither in the waiting thread nor in ours.
TEST_F(Stream, WaitForLongKernel_UsesLittleCpu) {
  runReady([] {
    EXPECT_EQ(spin(kNull, 400 * kMillisecond), CUDA_SUCCESS);
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const auto used =
        (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
    EXPECT_LT(used, 200'000'000) << "half a core would be a busy wait";
  });
}

// It used to wake up at the end of each of them.
TEST_F(Stream, WaitForManyKernels_FewWakeups) {
  runReady([] {
    constexpr int kKernels = 500;
    for (int i = 0; i < kKernels; ++i) EXPECT_EQ(spin(kNull, kMillisecond / 5), CUDA_SUCCESS);
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_SELF, &before);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, kKernels / 5);
  });
}

}  // namespace
}  // namespace divvy::simgpu
