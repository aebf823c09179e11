#include "batches.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "interposer/control.h"

namespace divvy::bench {
namespace {

constexpr auto kGrantPatience = std::chrono::seconds(20);

// What Divvy's library, if it is there, has counted at its gate so far.
struct Gated {
  std::uint64_t launches = 0;
  std::uint64_t waits = 0;
};

Gated countGated() {
  interposer::Control control{};
  control.size = sizeof control;
  auto* const ask =
      reinterpret_cast<decltype(&divvy_control)>(dlsym(RTLD_DEFAULT, "divvy_control"));
  if (ask == nullptr || ask(&control) != 0) return {};
  return {control.metered, control.waits};
}

class SilentReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

// Collects each repetition's processor time per operation; aggregates are the reader's business.
class BatchReporter : public benchmark::BenchmarkReporter {
 public:
  // `granted`: by batch, filled in while they run.
  explicit BatchReporter(const std::vector<bool>& granted) : granted_(granted) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      if (run.error_occurred) {
        std::fprintf(stderr, "probe: %s: %s\n", run.benchmark_name().c_str(),
                     run.error_message.c_str());
        std::_Exit(1);
      }
      const bool granted = granted_.at(static_cast<std::size_t>(run.repetition_index));
      lines_ += (granted ? "granted " : "batch ") + std::to_string(run.GetAdjustedCPUTime()) + "\n";
    }
  }

  // All at once, so that lines of several processes never mix.
  void Finalize() override {
    std::fputs(lines_.c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  const std::vector<bool>& granted_;
  std::string lines_;
};

// Whether all of a batch is launched under a grant, and none of it waits.
bool allGranted(const Batch& batch, benchmark::State& state) {
  const Gated before = countGated();
  batch(state);
  const Gated after = countGated();
  return after.waits == before.waits &&
         after.launches - before.launches == static_cast<std::uint64_t>(state.iterations());
}

void measure(const Call& call, int times, std::int64_t operations,
             const std::function<void(benchmark::State&)>& body,
             benchmark::BenchmarkReporter& reporter) {
  benchmark::RegisterBenchmark(std::string(call.name).c_str(), body)
      ->Iterations(operations)
      ->Repetitions(times)
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kNanosecond);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
}

// A tenant is gated some time after it came.
void awaitGrant(const Call& call, const Batch& batch, std::int64_t operations) {
  bool granted = false;
  const auto body = [&](benchmark::State& state) { granted = allGranted(batch, state); };
  const auto until = std::chrono::steady_clock::now() + kGrantPatience;
  while (!granted && std::chrono::steady_clock::now() < until) {
    SilentReporter silent;
    measure(call, 1, operations, body, silent);
  }
}

}  // namespace

void runBatches(const Call& call, const BatchPlan& plan, CrewPages& pages) {
  const Batch batch = call.prepare();
  if (plan.granted) awaitGrant(call, batch, plan.operations);
  std::vector<bool> granted;
  BatchReporter reporter(granted);
  const auto body = [&](benchmark::State& state) {
    if (!pages.batch.meet(plan.workers)) std::_Exit(1);
    granted.push_back(allGranted(batch, state));
  };
  measure(call, plan.batches, plan.operations, body, reporter);
}

}  // namespace divvy::bench
