// Bounds of future ends: how long a waiter may sleep.
#include <algorithm>

#include "timeline/timeline.h"
#include "timeline/timeline_lists.h"

namespace divvy::simgpu {

// Returns the time at which the lane can have an engine that another one holds now. It is the end
// of the slice, or earlier if the holder runs out of work.
Nanos Timeline::available(std::uint32_t lane, int e) const {
  const EngineState& g = s_.engines[e];
  if (g.lane == lane || g.lane == kNoLane || g.op == kNil) return s_.frontier;
  const Op& running = op(g.lane, g.op);
  const Nanos begin = std::max(s_.frontier, g.switch_until);
  const Nanos idle = running.owner_ends ? kNever : begin + running.work / rate(e);
  return std::min(idle, g.slice_end) + (e == 0 ? s_.config.switch_cost : 0);
}

// Fills `bound` of everything in the lane: the earliest end, or for owner-ended operations the
// earliest begin. Considers dependencies, costs and the slice of a neighbour, but not the engine's
// queue. So a waiter checks again when it wakes.
void Timeline::estimate(std::uint32_t lane) const {
  std::array<Nanos, kEngineCount> free{};
  for (int e = 0; e < kEngineCount; ++e) free[e] = available(lane, e);
  for (std::uint16_t slot = s_.lanes[lane].oldest; slot != kNil; slot = op(lane, slot).newer) {
    Op& o = op(lane, slot);
    if (o.state == OpState::kDone) {
      o.bound = o.end_ns;
      continue;
    }
    Nanos begin = s_.frontier;
    for (OpRef dep : o.deps) {
      if (ended(dep) || laneOf(dep) != lane) continue;
      begin = std::max(begin, op(dep).owner_ends ? kNever : op(dep).bound);
    }
    if (o.engine != Engine::kNone) begin = std::max(begin, free[static_cast<int>(o.engine)]);
    o.bound = begin == kNever || o.owner_ends ? begin : begin + o.work / 1000;
  }
}

Nanos Timeline::attentionBound(std::uint32_t lane) const {
  estimate(lane);
  Nanos earliest = kNever;
  for (std::uint16_t slot = s_.lanes[lane].oldest; slot != kNil; slot = op(lane, slot).newer) {
    const Op& o = op(lane, slot);
    if (o.attention) earliest = std::min(earliest, o.bound);
  }
  return earliest;
}

Nanos Timeline::earliestEnd(std::uint32_t lane) const {
  estimate(lane);
  Nanos earliest = kNever;
  for (std::uint16_t slot = s_.lanes[lane].oldest; slot != kNil; slot = op(lane, slot).newer) {
    const Op& o = op(lane, slot);
    if (o.state != OpState::kDone && !o.owner_ends) earliest = std::min(earliest, o.bound);
  }
  return earliest;
}

OpRef Timeline::newestPending(std::uint32_t lane, std::uint64_t seq) const {
  for (std::uint16_t slot = s_.lanes[lane].newest; slot != kNil; slot = op(lane, slot).older) {
    const Op& o = op(lane, slot);
    if (o.seq < seq && o.state != OpState::kDone) return refOf(lane, slot);
  }
  return 0;
}

bool Timeline::isDrained(std::uint32_t lane) const {
  for (std::uint16_t slot = s_.lanes[lane].newest; slot != kNil; slot = op(lane, slot).older) {
    const Op& o = op(lane, slot);
    if (o.state != OpState::kDone || o.attention) return false;
  }
  return true;
}

Nanos Timeline::endBound(OpRef ref) const {
  if (ref == 0 || !isCurrent(ref)) return s_.frontier;
  estimate(laneOf(ref));
  const Op& o = op(ref);
  return o.owner_ends && o.state != OpState::kDone ? kNever : o.bound;
}

}  // namespace divvy::simgpu
