// A process that meters its own launches: the interposer's meter over the simulated driver, with a
// simple stand-in for the gate, and the card's own log to judge by.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime.h"
#include "simgpu/interval_reader.h"
#include "support/syscalls.h"
#include "tenant_test.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

inline constexpr std::uint64_t kMicro = 1'000;
inline constexpr std::uint64_t kMilli = 1'000'000;
inline constexpr std::uint64_t kPatience = 60'000 * kMilli;

// While it lives another thread is on its way to open a stream, and has lost the processor there.
class OpeningElsewhere {
 public:
  explicit OpeningElsewhere(UsageMeter& meter) : opening_(meter.book_.opening_) { opening_ = true; }
  ~OpeningElsewhere() { opening_ = false; }
  OpeningElsewhere(const OpeningElsewhere&) = delete;
  OpeningElsewhere& operator=(const OpeningElsewhere&) = delete;

 private:
  std::atomic<bool>& opening_;
};

class MeterTest : public TenantTest {
 protected:
  static UsageMeter& meter() { return runtime().meter; }

  // As outside(), but nothing is preloaded: the meter is the test's own.
  // What the calling thread lost of the clock so far: it never sleeps in these tests, so what it
  // did not run it was kept from running. A meter cannot tell such time from the card's.
  static std::uint64_t heldUp() {
    struct timespec ran;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return sys::now() - (static_cast<std::uint64_t>(ran.tv_sec) * 1'000'000'000u +
                         static_cast<std::uint64_t>(ran.tv_nsec));
  }

  // Time that a polling loop lost, by the clock alone. A processor that the hypervisor takes away
  // counts as time that the thread ran, so heldUp() does not see it.
  class Stalls {
   public:
    // To be called in each iteration; returns the time.
    std::uint64_t sample() {
      const std::uint64_t now = sys::now();
      if (now - last_ > 50 * kMicro) total_ += now - last_;
      last_ = now;
      return now;
    }
    std::uint64_t total() const { return total_; }

   private:
    std::uint64_t last_ = sys::now(), total_ = 0;
  };

  // Where a stretch of work begins that is to be judged.
  struct Start {
    simgpu::CardEngine engine;
    std::uint64_t log, busy, held_up, stalled = 0;
    explicit Start(simgpu::CardEngine which = simgpu::CardEngine::kCompute)
        : engine(which), log(logged(which)), busy(meter().usage().busy(0)), held_up(heldUp()) {}
    // By how much the meter may be wrong because the program was held up.
    double slack() const { return static_cast<double>(std::max(heldUp() - held_up, stalled)); }
  };

  static bool elsewhere(Tenancy tenancy = {}) {
    tenancy.environment["LD_PRELOAD"] = "";
    return outside(tenancy);
  }

  // Any entry point, as the gate would call it.
  template <Cu kId, typename... Arguments>
  static CUresult metered(Arguments... arguments) {
    const DriverCallScope inside;
    MeteredCall ticket;
    const CallWork work = workOf<kId>(arguments...);
    Counted counted;
    if (work.kind == WorkKind::kKernel && meter().plain(work, counted)) {
      meter().count(counted);
      const CUresult answer = real<kId>()(arguments...);
      if (answer != CUDA_SUCCESS) meter().takeBack(counted);
      return answer;
    }
    meter().estimate(work, ticket);
    meter().begin(work, ticket);
    const CUresult result = real<kId>()(arguments...);
    meter().end(ticket, result);
    return result;
  }

  // Waits as the gate does until `estimate` more fits into what may be in flight, or what is ends
  // soon.
  static void admit(const CallWork& work, std::uint64_t bound) {
    MeteredCall ticket;
    const std::uint64_t estimate = meter().estimate(work, ticket);
    const std::uint64_t limit = sys::now() + kPatience;
    while (meter().usage().unsettled() + estimate > bound) {
      const std::uint64_t now = sys::now();
      meter().settle(now);
      if (meter().usage().inflightUntil() < now + bound / 4) break;
      ASSERT_LT(now, limit) << "in flight for ever";
    }
  }

  static CUfunction builtin(const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(
        cu<Cu::cuModuleLoadData>(&module, static_cast<const void*>("simgpu-builtin 1\nall\n")),
        CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&function, module, name), CUDA_SUCCESS);
    return function;
  }

  // One kernel of `nanoseconds` of the card, past the stand-in for the gate.
  static void spin(CUfunction function, CUstream stream, std::uint64_t nanoseconds,
                   std::uint64_t bound = 2 * kMilli) {
    void* params[] = {&nanoseconds, nullptr};
    void** none = nullptr;
    admit(workOf<Cu::cuLaunchKernel>(function, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, +params, none),
          bound);
    ASSERT_EQ(
        (metered<Cu::cuLaunchKernel>(function, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, +params, none)),
        CUDA_SUCCESS);
  }

  static CUstream makeStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, flags), CUDA_SUCCESS);
    return stream;
  }

  // Settles until nothing is in flight.
  static void drain() {
    meter().mark();
    const std::uint64_t limit = sys::now() + kPatience;
    while (!meter().usage().idle()) {
      meter().settle(sys::now());
      ASSERT_LT(sys::now(), limit) << "in flight for ever";
    }
  }

  // What the card's log says that this process had of an engine, so far; the card's nanoseconds.
  static std::uint64_t logged(simgpu::CardEngine engine = simgpu::CardEngine::kCompute,
                              int card = 0) {
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    const auto view = simgpu::readIntervals(std::getenv("SIMGPU_DIR"), card);
    EXPECT_TRUE(view);
    return view ? simgpu::busyWithin(*view, ::getpid(), engine, 0, UINT64_MAX) : 0;
  }

  // Expects what the meter saw since then to be what the card's log has since, of whose nanoseconds
  // one of ours is `scale`; but for `percent` of it, and the time that the program was held up.
  static void expectExact(const Start& since, double percent, double scale = 1) {
    const double lost = since.slack() * scale;
    const double seen = static_cast<double>(meter().usage().busy(0) - since.busy) * scale;
    const auto truth = static_cast<double>(logged(since.engine) - since.log);
    ASSERT_GT(truth, 0);
    std::printf(
        "  busy %.3f ms, the card's log %.3f ms: %+.2f %%, held up %.3f ms, unmetered %llu, "
        "settles %llu\n",
        seen / 1e6, truth / 1e6, 100 * (seen - truth) / truth, lost / 1e6,
        static_cast<unsigned long long>(meter().usage().unmetered()),
        static_cast<unsigned long long>(meter().usage().settles()));
    EXPECT_NEAR(seen, truth, truth * percent / 100 + lost);
  }
};

}  // namespace divvy::interposer
