#include "memory_loads.h"

#include <algorithm>

#include "field.h"

namespace divvy::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr double kQueueUs = 50'000;  // a program looks at its results after this much work

CardTime after(CardTime at, double seconds) {
  return at + static_cast<CardTime>(seconds * kNanosPerSecond);
}

Field fieldOf(const LoadPlan& plan) {
  return {static_cast<std::uint64_t>(plan.memory_mib * static_cast<double>(kMiB)),
          static_cast<std::uint64_t>(plan.block_mib * static_cast<double>(kMiB)),
          static_cast<std::uint32_t>(plan.seed)};
}

// One unit of work: a kernel that changes memory, then one that takes its time.
void unit(const LoadStage& stage, Field& field, LoadFacts* facts) {
  field.change(nullptr);
  stage.kernel.launch(nullptr, stage.plan.unit_us);
  ++facts->launches;
}

std::uint64_t unitsPerLook(const LoadPlan& plan) {
  return static_cast<std::uint64_t>(std::max(1.0, kQueueUs / plan.unit_us));
}

void finish(const LoadStage& stage, const Field& field, LoadFacts* facts) {
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  facts->worked = stage.clock.now();
  facts->mismatched = field.mismatched();
  facts->read_bytes = field.bytes();
  facts->end = stage.clock.now();
}

}  // namespace

void runBatch(const LoadStage& stage, LoadFacts* facts) {
  Field field = fieldOf(stage.plan);
  const auto units = static_cast<std::uint64_t>(stage.plan.seconds * 1e6 / stage.plan.unit_us);
  const std::uint64_t look = unitsPerLook(stage.plan);
  for (std::uint64_t i = 1; i <= units; ++i) {
    unit(stage, field, facts);
    if (i % look == 0) must(cuCtxSynchronize(), "cuCtxSynchronize");
  }
  finish(stage, field, facts);
}

void runService(const LoadStage& stage, LoadFacts* facts) {
  const LoadPlan& plan = stage.plan;
  Field field = fieldOf(plan);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  // By the clock that stands still while the machine does.
  const CardTime start = stage.begin - lostBefore(stage);
  const CardTime end = after(start, plan.seconds);
  const std::uint64_t look = unitsPerLook(plan);
  for (CardTime at = after(start, plan.start_s); at < end; at = after(at, plan.on_s + plan.off_s)) {
    awaitArrival(stage, at);
    Answer answer{at, stage.clock.now(), 0};
    field.changeAll(nullptr);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    answer.done = stage.clock.now();
    facts->answers.push_back(answer);
    const CardTime rest = after(at, plan.on_s) + lostBefore(stage);
    for (std::uint64_t i = 1; stage.clock.now() < rest; ++i) {
      unit(stage, field, facts);
      if (i % look == 0) must(cuCtxSynchronize(), "cuCtxSynchronize");
    }
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    facts->rested.push_back(stage.clock.now());
  }
  awaitArrival(stage, end);
  finish(stage, field, facts);
}

}  // namespace divvy::bench
