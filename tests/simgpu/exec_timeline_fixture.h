// A card's timeline in private memory, with a clock that the test moves.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <vector>

#include "timeline/timeline.h"

namespace divvy::simgpu {

inline constexpr Nanos kStart = 1'000'000'000;
inline constexpr Nanos kSlice = 2'048'000;

class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() { reset({}); }
  ~TimelineTest() override { munmap(memory_, sizeof(TimelineState)); }

  // A fresh card; the file is sparse, so is this.
  void reset(const EngineConfig& config) {
    if (memory_ != nullptr) munmap(memory_, sizeof(TimelineState));
    memory_ = mmap(nullptr, sizeof(TimelineState), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    Timeline::init(state(), config, kStart);
    now_ = kStart;
  }
  TimelineState* state() { return static_cast<TimelineState*>(memory_); }
  Timeline line() { return Timeline(state()); }

  std::uint32_t lane(std::uint32_t pid) { return line().addLane({pid, 0, 1}); }
  OpRef kernel(std::uint32_t lane, Nanos cost, std::initializer_list<OpRef> deps = {},
               int priority = 0) {
    return put(lane,
               {.engine = Engine::kCompute,
                .kind = IntervalKind::kKernel,
                .priority = static_cast<std::int8_t>(priority),
                .cost = cost},
               deps);
  }
  OpRef copy(std::uint32_t lane, Engine engine, Nanos cost, std::uint64_t bytes,
             std::initializer_list<OpRef> deps = {}) {
    return put(lane,
               {.engine = engine,
                .kind = engine == Engine::kCopyIn ? IntervalKind::kCopyIn : IntervalKind::kCopyOut,
                .cost = cost,
                .bytes = bytes},
               deps);
  }
  OpRef marker(std::uint32_t lane, std::initializer_list<OpRef> deps = {}) {
    return put(lane, {}, deps);
  }
  OpRef host(std::uint32_t lane, std::initializer_list<OpRef> deps = {}) {
    return put(lane, {.owner_ends = true, .attention = true}, deps);
  }
  OpRef put(std::uint32_t lane, OpSpec spec, std::initializer_list<OpRef> deps) {
    std::copy(deps.begin(), deps.end(), spec.deps.begin());
    return line().submit(lane, spec, now_);
  }
  void pass(Nanos span) { line().advance(now_ += span); }

  Nanos endOf(OpRef ref) { return line().view(ref).end_ns - kStart; }
  Nanos startOf(OpRef ref) { return line().view(ref).start_ns - kStart; }
  bool done(OpRef ref) { return line().ended(ref); }

  // Everything in the ring, in order of writing.
  std::vector<IntervalRecord> log() {
    const IntervalLog& ring = state()->log;
    return {ring.ring.begin(), ring.ring.begin() + static_cast<long>(ring.next)};
  }
  // Busy time on the compute engine by pid.
  std::map<std::uint32_t, Nanos> computeByPid() {
    std::map<std::uint32_t, Nanos> sums;
    for (const IntervalRecord& r : log()) {
      if (r.engine == 0) sums[r.pid] += r.end_ns - r.start_ns;
    }
    return sums;
  }

  void* memory_ = nullptr;
  Nanos now_ = kStart;
};

}  // namespace divvy::simgpu
