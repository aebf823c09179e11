#include "batches.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace divvy::bench {
namespace {

// Collects each repetition's processor time per operation; aggregates are the reader's business.
class BatchReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      if (run.error_occurred) {
        std::fprintf(stderr, "probe: %s: %s\n", run.benchmark_name().c_str(),
                     run.error_message.c_str());
        std::_Exit(1);
      }
      lines_ += "batch " + std::to_string(run.GetAdjustedCPUTime()) + "\n";
    }
  }

  // All at once, so that lines of several processes never mix.
  void Finalize() override {
    std::fputs(lines_.c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  std::string lines_;
};

}  // namespace

void runBatches(const Call& call, const BatchPlan& plan, CrewPages& pages) {
  const Batch batch = call.prepare();
  benchmark::RegisterBenchmark(std::string(call.name).c_str(),
                               [&](benchmark::State& state) {
                                 if (!pages.batch.meet(plan.workers)) std::_Exit(1);
                                 batch(state);
                               })
      ->Iterations(plan.operations)
      ->Repetitions(plan.batches)
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kNanosecond);
  BatchReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
}

}  // namespace divvy::bench
