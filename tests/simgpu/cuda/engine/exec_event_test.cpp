// Events: queries, timing, and the two calls about whole contexts.
#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Event : public DriverTest {};

constexpr CUstream kNull = nullptr;

TEST_F(Event, NeverRecorded_ReadyWithoutTime) {
  runReady([] {
    const CUevent never = makeEvent();
    const CUevent done = recordedIn(kNull);
    float ms = 0;
    EXPECT_EQ(cu<Cu::cuEventQuery>(never), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(never), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(done), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, never, done), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(Event, TimingDisabled_ElapsedTimeRefused) {
  runReady([] {
    const CUevent timed = recordedIn(kNull);
    const CUevent untimed = makeEvent(CU_EVENT_DISABLE_TIMING);
    EXPECT_EQ(cu<Cu::cuEventRecord>(untimed, kNull), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(untimed), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(static_cast<float*>(nullptr), timed, timed),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Event, PendingEvent_IsNotReady) {
  runReady([] {
    auto* flag = pinned<std::uint32_t>();
    const CUevent from = recordedIn(kNull);
    EXPECT_EQ(launch(builtin("spin_until"), kNull, deviceView(flag), 1U), CUDA_SUCCESS);
    const CUevent to = recordedIn(kNull);
    float ms = 0;
    EXPECT_EQ(cu<Cu::cuEventQuery>(to), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, from, to), CUDA_ERROR_NOT_READY);
    std::atomic_ref(*flag).store(1);
    EXPECT_GE(elapsed(from, to), 0.0F);
  });
}

// An hour of the card's time, waited for: only a card whose time runs faster is done in a test's.
TEST_F(Event, TimeScale_CardClockRunsFaster) {
  setenv("SIMGPU_TIME_SCALE", "1000", 1);
  runReady([] {
    const CUevent from = recordedIn(kNull);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(spin(kNull, 2000 * kMillisecond), CUDA_SUCCESS);
    const CUevent to = recordedIn(kNull);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    EXPECT_GE(elapsed(from, to), 12'000.0F);
    // The next process finds the clock as it is, whatever it asks for.
  });
  setenv("SIMGPU_TIME_SCALE", "1", 1);
  runReady([] {
    const CUevent from = recordedIn(kNull);
    for (int i = 0; i < 900; ++i) EXPECT_EQ(spin(kNull, 4000 * kMillisecond), CUDA_SUCCESS);
    const CUevent to = recordedIn(kNull);
    EXPECT_GE(elapsed(from, to), 3'600'000.0F);
  });
  unsetenv("SIMGPU_TIME_SCALE");
}

TEST_F(Event, ElapsedTime_MatchesLog) {
  runReady([] {
    const CUstream s = makeStream();
    const CUevent from = recordedIn(s);
    EXPECT_EQ(spin(s, 7 * kMillisecond), CUDA_SUCCESS);
    EXPECT_EQ(spin(s, 4 * kMillisecond), CUDA_SUCCESS);
    const CUevent to = recordedIn(s);
    const float ms = elapsed(from, to);
    const auto view = readIntervals(std::getenv("SIMGPU_DIR"), 0);
    ASSERT_TRUE(view.has_value());
    ASSERT_EQ(view->intervals.size(), 1U) << "back to back: one interval";
    const Interval& interval = view->intervals[0];
    EXPECT_EQ(interval.end_ns - interval.start_ns, 11 * kMillisecond);
    EXPECT_EQ(interval.ops, 2U);
    EXPECT_EQ(interval.pid, getpid());
    EXPECT_GE(ms, 11.0F) << "the first event was stamped before the kernel was launched";
  });
}

TEST_F(Event, RecordAgain_MovesStamp) {
  runReady([] {
    const CUstream s = makeStream();
    const CUevent fixed = recordedIn(s);
    const CUevent moved = recordedIn(s);
    EXPECT_EQ(spin(s, 2 * kMillisecond), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventRecord>(moved, s), CUDA_SUCCESS);
    EXPECT_GE(elapsed(fixed, moved), 2.0F);
  });
}

TEST_F(Event, SharedTimedOrUnknownFlags_AreRefused) {
  runReady([] {
    CUevent event = nullptr;
    EXPECT_EQ(cu<Cu::cuEventCreate>(&event, unsigned{CU_EVENT_INTERPROCESS}),
              CUDA_ERROR_INVALID_VALUE)
        << "needs timing disabled";
    EXPECT_EQ(cu<Cu::cuEventCreate>(&event, 64U), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuEventRecordWithFlags>(makeEvent(), kNull, 1U), CUDA_ERROR_INVALID_VALUE)
        << "external records exist in captures only";
    event = makeEvent(CU_EVENT_BLOCKING_SYNC);
    EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(event), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventQuery>(event), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(Event, OtherContextsEvent_RecordIsRefused) {
  runReady([] {
    const CUevent event = makeEvent();
    CUcontext other = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&other, 0U, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventRecord>(event, makeStream()), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(Event, ContextEvents_FollowAndHoldAllStreams) {
  runReady([] {
    auto* flags = pinned<std::uint32_t>(2);
    const CUfunction until = builtin("spin_until");
    const CUstream a = makeStream();
    const CUstream b = makeStream();
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    EXPECT_EQ(launch(until, a, deviceView(flags), 1U), CUDA_SUCCESS);
    const CUevent all = makeEvent();
    EXPECT_EQ(cu<Cu::cuCtxRecordEvent>(context, all), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventQuery>(all), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cu<Cu::cuCtxWaitEvent>(context, all), CUDA_SUCCESS);
    const CUevent in_b = recordedIn(b);
    EXPECT_EQ(cu<Cu::cuEventQuery>(in_b), CUDA_ERROR_NOT_READY) << "b waits for the event too";
    std::atomic_ref(flags[0]).store(1);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(in_b), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventQuery>(all), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace divvy::simgpu
