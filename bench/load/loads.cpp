#include "loads.h"

#include <algorithm>

#include "arrivals.h"
#include "memory_loads.h"

namespace divvy::bench {
namespace {

// A program looks at its results now and then: after this much work of its own.
constexpr double kQueueUs = 50'000;
constexpr double kMaxQueued = 1000;
constexpr double kMinQueued = 4;

CardTime after(CardTime at, double seconds) {
  return at + static_cast<CardTime>(seconds * kNanosPerSecond);
}

class Streams {
 public:
  explicit Streams(int count) : streams_(static_cast<std::size_t>(count)) {
    constexpr unsigned kNonBlocking = 1;
    for (CUstream& stream : streams_) must(cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
  }
  CUstream next() { return streams_[turn_++ % streams_.size()]; }

 private:
  std::vector<CUstream> streams_;
  std::size_t turn_ = 0;
};

// Launches without waiting, and synchronises after as much as the program's own queue holds.
void steadyUntil(const LoadStage& stage, Streams& streams, CardTime end, LoadFacts* facts) {
  const auto queued =
      static_cast<std::uint64_t>(std::clamp(kQueueUs / stage.plan.unit_us, kMinQueued, kMaxQueued));
  for (std::uint64_t i = 1; stage.clock.now() < end; ++i) {
    stage.kernel.launch(streams.next(), stage.plan.unit_us);
    ++facts->launches;
    if (i % queued == 0) must(cuCtxSynchronize(), "cuCtxSynchronize");
  }
}

void runSteady(const LoadStage& stage, LoadFacts* facts) {
  Streams streams(stage.plan.streams);
  facts->end = after(stage.begin, stage.plan.seconds);
  steadyUntil(stage, streams, facts->end, facts);
}

void runDuty(const LoadStage& stage, LoadFacts* facts) {
  Streams streams(stage.plan.streams);
  facts->end = after(stage.begin, stage.plan.seconds);
  const double period = stage.plan.on_s + stage.plan.off_s;
  for (int cycle = 0;; ++cycle) {
    const CardTime on = after(stage.begin, cycle * period);
    if (on >= facts->end) break;
    stage.clock.sleepUntil(on);
    facts->resumed.push_back(stage.clock.now());
    steadyUntil(stage, streams, std::min(after(on, stage.plan.on_s), facts->end), facts);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    facts->rested.push_back(stage.clock.now());
  }
  stage.clock.sleepUntil(facts->end);
}

// As a decoder: one kernel, its result, the host's own work, the next kernel.
void runGaps(const LoadStage& stage, LoadFacts* facts) {
  Streams streams(1);
  const CUstream stream = streams.next();
  facts->end = after(stage.begin, stage.plan.seconds);
  while (stage.clock.now() < facts->end) {
    stage.kernel.launch(stream, stage.plan.unit_us);
    ++facts->launches;
    must(cuStreamSynchronize(stream), "cuStreamSynchronize");
    stage.clock.sleepUntil(after(stage.clock.now(), stage.plan.gap_us / 1e6));
  }
}

void runGraph(const LoadStage& stage, LoadFacts* facts) {
  constexpr int kThreadLocal = 1;
  Streams streams(1);
  const CUstream stream = streams.next();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  must(cuStreamBeginCapture_v2(stream, kThreadLocal), "cuStreamBeginCapture");
  for (int i = 0; i < stage.plan.launches; ++i) {
    stage.kernel.launch(stream, stage.plan.unit_us / stage.plan.launches);
  }
  must(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  must(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  facts->end = after(stage.begin, stage.plan.seconds);
  while (stage.clock.now() < facts->end) {
    for (int i = 0; i < 2; ++i, ++facts->launches) {
      must(cuGraphLaunch(exec, stream), "cuGraphLaunch");
    }
    must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
}

// One server that takes requests in the order of their arrival, however late it is.
void runLatency(const LoadStage& stage, LoadFacts* facts) {
  const LoadPlan& plan = stage.plan;
  const auto all = poissonArrivals(plan.seed, plan.per_second, plan.first + plan.count);
  const CardTime zero = plan.first == 0 ? 0 : all[plan.first - 1];
  Streams streams(1);
  const CUstream stream = streams.next();
  facts->answers.reserve(plan.count);
  const CardTime start = stage.begin - lostBefore(stage);
  for (std::size_t i = plan.first; i < all.size(); ++i) {
    Answer answer{start + (all[i] - zero), 0, 0};
    awaitArrival(stage, answer.arrived);
    answer.launched = stage.clock.now();
    for (int k = 0; k < plan.launches; ++k) stage.kernel.launch(stream, plan.unit_us);
    must(cuStreamSynchronize(stream), "cuStreamSynchronize");
    answer.done = stage.clock.now();
    facts->launches += static_cast<std::uint64_t>(plan.launches);
    facts->answers.push_back(answer);
  }
  facts->end = stage.clock.now();
}

}  // namespace

CardTime lostBefore(const LoadStage& stage) {
  if (stage.stalls == nullptr) return 0;
  return stage.clock.fromMonotonic(stage.stalls->lost.load(std::memory_order_acquire));
}

void awaitArrival(const LoadStage& stage, CardTime at) {
  do {
    stage.clock.sleepUntil(at + lostBefore(stage));
  } while (stage.clock.now() < at + lostBefore(stage));
}

void runLoad(const LoadStage& stage, LoadFacts* facts) {
  if (stage.plan.kind == "steady") runSteady(stage, facts);
  if (stage.plan.kind == "graph") runGraph(stage, facts);
  if (stage.plan.kind == "gaps") runGaps(stage, facts);
  if (stage.plan.kind == "duty") runDuty(stage, facts);
  if (stage.plan.kind == "latency") runLatency(stage, facts);
  if (stage.plan.kind == "batch") runBatch(stage, facts);
  if (stage.plan.kind == "service") runService(stage, facts);
}

}  // namespace divvy::bench
