// Busy time against the card's own log. Alone the errors are some hundredths of a percent; on a
// machine with other things to do they may be as large as the time that the program was held up.
#include "meter_fixture.h"

namespace divvy::interposer {
namespace {

class UsageMeterTest : public MeterTest {
 protected:
  // `count` kernels of `nanoseconds` each, spread over `streams`.
  static void saturate(std::uint64_t nanoseconds, int count, int streams, double percent = 5) {
    const CUfunction kernel = builtin("spin");
    std::vector<CUstream> all;
    for (int i = 0; i < streams; ++i) all.push_back(makeStream());
    const Start since;
    for (int i = 0; i < count; ++i) {
      spin(kernel, all[static_cast<std::size_t>(i % streams)], nanoseconds);
    }
    drain();
    expectExact(since, percent);
  }
};

TEST_F(UsageMeterTest, ShortKernels_BusyWithinFivePercent) {
  if (elsewhere()) return;
  makeReady();
  saturate(50 * kMicro, 6'000, 1);
}

TEST_F(UsageMeterTest, MillisecondKernels_BusyWithinFivePercent) {
  if (elsewhere()) return;
  makeReady();
  saturate(kMilli, 300, 1);
}

TEST_F(UsageMeterTest, LongKernels_BusyWithinFivePercent) {
  if (elsewhere()) return;
  makeReady();
  saturate(20 * kMilli, 20, 1);
}

TEST_F(UsageMeterTest, FourStreams_BusyIsUnion) {
  if (elsewhere()) return;
  makeReady();
  saturate(kMilli, 300, 4);
}

// What runs in gaps between streams is only estimated: never less than it is, never the sum.
TEST_F(UsageMeterTest, FourStreamsOfShortKernels_BusyAtMostWallTime) {
  if (elsewhere()) return;
  makeReady();
  const std::uint64_t began = sys::now();
  const CUfunction kernel = builtin("spin");
  CUstream streams[4];
  for (CUstream& stream : streams) stream = makeStream();
  const Start since;
  for (int i = 0; i < 6'000; ++i) spin(kernel, streams[i % 4], 50 * kMicro);
  drain();
  const double slack = since.slack();
  const std::uint64_t truth = logged() - since.log;
  std::printf("  busy %.3f ms, the card's log %.3f ms\n",
              static_cast<double>(meter().usage().busy(0)) / 1e6, static_cast<double>(truth) / 1e6);
  EXPECT_GE(static_cast<double>(meter().usage().busy(0)),
            0.95 * static_cast<double>(truth) - slack);
  EXPECT_LE(meter().usage().busy(0), sys::now() - began);
}

// Half of the time nothing runs, because the program does something else between two launches.
TEST_F(UsageMeterTest, GapsBetweenLaunches_NotCharged) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  Start since;
  Stalls stalls;
  std::uint64_t next = sys::now();
  for (int i = 0; i < 2'000; ++i) {
    spin(kernel, stream, 100 * kMicro);
    next += 200 * kMicro;
    while (stalls.sample() < next) {
    }
  }
  drain();
  since.stalled = stalls.total();
  expectExact(since, 5);
}

TEST_F(UsageMeterTest, RefusedLaunches_NotCharged) {
  if (elsewhere()) return;
  makeReady();
  const CUfunction kernel = builtin("spin");
  const CUstream stream = makeStream();
  const Start since;
  std::uint64_t nanoseconds = 50 * kMicro;
  void* params[] = {&nanoseconds, nullptr};
  void** none = nullptr;
  for (int i = 0; i < 5'000; ++i) {
    spin(kernel, stream, nanoseconds);
    // More threads than a block may have.
    ASSERT_EQ(
        (metered<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 4096u, 1u, 1u, 0u, stream, +params, none)),
        CUDA_ERROR_INVALID_VALUE);
  }
  drain();
  expectExact(since, 5);
}

// Its estimate stayed the first guess, and every launch paid for an event.
TEST_F(UsageMeterTest, WorkWithoutDuration_EstimateBecomesShort) {
  if (elsewhere({.machine = "null"})) return;
  makeReady();
  const auto kernel = reinterpret_cast<CUfunction>(std::uintptr_t{0x7000});
  const CUstream stream = makeStream();
  void** none = nullptr;
  const auto launch = [&] {
    return metered<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, none, none);
  };
  MeteredCall ticket;
  const CallWork work =
      workOf<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, none, none);
  const std::uint64_t limit = sys::now() + kPatience;
  while (meter().estimate(work, ticket) > 10 * kMicro) {
    ASSERT_EQ(launch(), CUDA_SUCCESS);
    meter().settle(sys::now());
    ASSERT_LT(sys::now(), limit);
  }
}

}  // namespace
}  // namespace divvy::interposer
