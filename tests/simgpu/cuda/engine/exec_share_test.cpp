// Several processes on one card: turns, shares, deaths. Judged from the card's own log.
#include <algorithm>

#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Share : public DriverTest {};

constexpr CUstream kNull = nullptr;
constexpr std::uint64_t kSlice = 2'048'000;

// Two tenants that start together, each with one long kernel.
void spinTogether(std::uint64_t nanos) {
  EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 0), CUDA_SUCCESS);
  EXPECT_EQ(spin(kNull, 1), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  DriverProcess::meet();
  EXPECT_EQ(spin(kNull, nanos), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  DriverProcess::meet();
}

TEST_F(Share, TwoProcesses_TakeEqualTurns) {
  constexpr std::uint64_t kWork = 60 * kMillisecond;
  DriverProcess a(environment(), [] { spinTogether(kWork); });
  DriverProcess b(environment(), [] { spinTogether(kWork); });
  a.hear();
  b.hear();
  a.resume();
  b.resume();
  a.hear();
  b.hear();
  const auto view = readIntervals(dir(), 0);
  a.resume();
  b.resume();
  a.expectSuccess();
  b.expectSuccess();
  ASSERT_TRUE(view.has_value());
  EXPECT_GE(busyWithin(*view, a.pid(), CardEngine::kCompute, 0, UINT64_MAX), kWork);
  EXPECT_GE(busyWithin(*view, b.pid(), CardEngine::kCompute, 0, UINT64_MAX), kWork);
  // While both have work, nobody keeps the engine longer than a slice, and nothing overlaps.
  std::uint64_t begins[2] = {UINT64_MAX, UINT64_MAX};
  std::uint64_t ends[2] = {0, 0};
  std::uint64_t last_end = 0;
  for (const Interval& i : view->intervals) {
    if (i.engine != CardEngine::kCompute) continue;
    EXPECT_GE(i.start_ns, last_end);
    last_end = i.end_ns;
    const int who = i.pid == a.pid() ? 0 : 1;
    if (i.end_ns - i.start_ns < 1000) continue;  // the warm-up
    begins[who] = std::min(begins[who], i.start_ns);
    ends[who] = i.end_ns;
  }
  const std::uint64_t from = std::max(begins[0], begins[1]);
  const std::uint64_t to = std::min(ends[0], ends[1]);
  ASSERT_GT(to, from + 10 * kSlice) << "they hardly met";
  for (const Interval& i : view->intervals) {
    if (i.engine != CardEngine::kCompute || i.start_ns < from || i.end_ns > to) continue;
    EXPECT_LE(i.end_ns - i.start_ns, kSlice);
  }
  const auto busy_a = busyWithin(*view, a.pid(), CardEngine::kCompute, from, to);
  const auto busy_b = busyWithin(*view, b.pid(), CardEngine::kCompute, from, to);
  EXPECT_NEAR(static_cast<double>(busy_a), static_cast<double>(busy_b), 2.0 * kSlice);
}

TEST_F(Share, KilledProcess_SurvivorGetsCard) {
  for (const bool in_the_middle : {false, true}) {
    DriverProcess victim(environment(), [in_the_middle] {
      makeReady();
      const CUfunction f = builtin("spin");
      EXPECT_EQ(launch(f, kNull, 3'600'000 * kMillisecond), CUDA_SUCCESS);
      DriverProcess::meet();
      while (in_the_middle) launch(f, makeStream(), std::uint64_t{100});
      for (;;) pause();
    });
    victim.hear();
    DriverProcess survivor(environment(), [] {
      makeReady();
      EXPECT_EQ(spin(kNull, kMillisecond), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "slices alternate meanwhile";
      DriverProcess::meet();
      EXPECT_EQ(spin(kNull, 20 * kMillisecond), CUDA_SUCCESS);
      const CUevent from = recordedIn(makeStream());
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventQuery>(from), CUDA_SUCCESS);
    });
    survivor.hear();
    if (in_the_middle) victim.resume();
    victim.killNow();
    survivor.resume();
    survivor.expectSuccess();
    const auto view = readIntervals(dir(), 0);
    ASSERT_TRUE(view.has_value());
    EXPECT_LT(busyWithin(*view, victim.pid(), CardEngine::kCompute, 0, UINT64_MAX),
              30'000 * kMillisecond)
        << "an hour of work vanished with its process";
  }
}

// NVML's busy time is fed while a process waits for one long kernel.
TEST_F(Share, WaitingForKernel_LogMoves) {
  DriverProcess process(environment(), [] {
    makeReady();
    auto* flag = pinned<std::uint32_t>();
    EXPECT_EQ(launch(builtin("spin_until"), kNull, deviceView(flag), 1U), CUDA_SUCCESS);
    const std::string directory = std::getenv("SIMGPU_DIR");
    std::thread waiting([] {
      CUcontext context = nullptr;
      EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    });
    const auto busy = [&] {
      const auto view = readIntervals(directory, 0);
      return view ? busyWithin(*view, 0, CardEngine::kCompute, 0, UINT64_MAX) : 0;
    };
    EXPECT_TRUE(eventually([&] { return busy() > 300 * kMillisecond; }));
    std::atomic_ref(*flag).store(1);
    waiting.join();
  });
  process.expectSuccess();
}

TEST_F(Share, PendingWork_ProcessExits) {
  run([] {
    makeReady();
    auto* flag = pinned<std::uint32_t>();
    EXPECT_EQ(launch(builtin("spin_until"), kNull, deviceView(flag), 1U), CUDA_SUCCESS);
    EXPECT_EQ(spin(kNull, 3'600'000 * kMillisecond), CUDA_SUCCESS);
    EXPECT_EQ(
        cu<Cu::cuMemsetD8Async>(allocate(64), static_cast<unsigned char>(1), size_t{1}, kNull),
        CUDA_SUCCESS);
  });
}

TEST_F(Share, ForkedChild_HasNoCard) {
  runReady([] {
    EXPECT_EQ(spin(kNull, 5 * kMillisecond), CUDA_SUCCESS);
    const pid_t child = fork();
    if (child == 0) _exit(cu<Cu::cuCtxSynchronize>() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  });
}

// Eight processes, random work, all results right and all work accounted for.
TEST_F(Share, EightProcesses_ResultsAreRight) {
  std::vector<std::unique_ptr<DriverProcess>> processes;
  for (unsigned seed = 0; seed < 8; ++seed) {
    processes.push_back(std::make_unique<DriverProcess>(environment(), [seed] {
      makeReady();
      const CUfunction add = builtin("add");
      const CUdeviceptr data = upload(std::vector<std::uint32_t>(256, seed));
      std::vector<CUstream> streams;
      for (int i = 0; i < 4; ++i) streams.push_back(makeStream(CU_STREAM_DEFAULT));
      for (int i = 0; i < 400; ++i) {
        const CUstream s = streams[static_cast<std::size_t>(i) % 4];
        EXPECT_EQ(
            launch(add, s, data + 256 * (static_cast<unsigned>(i) % 4), std::uint64_t{64}, 1U),
            CUDA_SUCCESS);
        if (i % 50 == 49) {
          EXPECT_EQ(sync(s), CUDA_SUCCESS);
        }
      }
      EXPECT_EQ(download<std::uint32_t>(data, 256), std::vector<std::uint32_t>(256, seed + 100));
    }));
  }
  for (const auto& process : processes) process->expectSuccess();
}

}  // namespace
}  // namespace divvy::simgpu
