// Repairs a timeline after its lock holder died: derived data is computed again.
#include <algorithm>
#include <utility>

#include "timeline/timeline.h"
#include "timeline/timeline_lists.h"

namespace divvy::simgpu {

namespace {

using SlotOrder = std::array<std::uint16_t, kOpsPerLane>;

// The slots in use of a lane, oldest submission first.
std::uint32_t slotsBySeq(const Lane& lane, const LaneOps& ops, SlotOrder* order) {
  std::uint32_t count = 0;
  for (std::uint16_t slot = 0; slot < std::min<std::uint32_t>(lane.slots_touched, kOpsPerLane);
       ++slot) {
    if (ops[slot].state != OpState::kFree) (*order)[count++] = slot;
  }
  std::sort(order->begin(), order->begin() + count,
            [&](std::uint16_t a, std::uint16_t b) { return ops[a].seq < ops[b].seq; });
  return count;
}

}  // namespace

void Timeline::recover() {
  IntervalLog& log = s_.log;
  if (log.generation.load(std::memory_order_relaxed) % 2 == 1) log.generation.fetch_add(1);
  s_.due = {};
  s_.live_lanes = 0;
  for (EngineState& engine : s_.engines) {
    engine.busy = {};
    engine.op = kNil;
    engine.run_start = s_.frontier;
  }
  for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
    Lane& l = s_.lanes[lane];
    if (l.live != 0) ++s_.live_lanes;
    l.slots_touched =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(l.slots_touched, kOpsPerLane));
    rebuildLane(lane);
  }
  // Edges cross lanes, so readiness is computed after all lanes have their lists.
  for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
    if (s_.lanes[lane].live != 0) relinkLane(lane);
  }
  for (EngineState& engine : s_.engines) {
    if (engine.lane != kNoLane && s_.lanes[engine.lane].live == 0) engine.lane = kNoLane;
    if (engine.resident != kNoLane && s_.lanes[engine.resident].live == 0) {
      engine.resident = kNoLane;
    }
  }
  reschedule();
}

// Free list and submission order from the states alone; a lane that was being dropped is emptied.
void Timeline::rebuildLane(std::uint32_t lane) {
  Lane& l = s_.lanes[lane];
  if (l.live == 0) {
    resetLane(lane);
    return;
  }
  LaneOps& ops = s_.ops[lane];
  l.lists.fill(OpList{});
  l.free_head = l.oldest = l.newest = kNil;
  for (std::uint16_t slot = 0; slot < l.slots_touched; ++slot) {
    if (ops[slot].state != OpState::kFree) continue;
    ops[slot].next = l.free_head;
    l.free_head = slot;
  }
  SlotOrder order;
  l.in_use = slotsBySeq(l, ops, &order);
  for (std::uint32_t i = 0; i < l.in_use; ++i) {
    Op& o = ops[order[i]];
    linkNewest(l, ops, order[i]);
    o.list = ListId::kNone;
    o.prev = o.next = kNil;
    o.first_edge = kNoEdge;
    l.next_seq = std::max(l.next_seq, o.seq + 1);
  }
}

void Timeline::relinkLane(std::uint32_t lane) {
  Lane& l = s_.lanes[lane];
  LaneOps& ops = s_.ops[lane];
  SlotOrder order;
  const std::uint32_t count = slotsBySeq(l, ops, &order);
  l.pending_launches = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Op& o = ops[order[i]];
    if (o.state == OpState::kDone) continue;
    l.pending_launches += o.kind == IntervalKind::kKernel;
    std::array<OpRef, kMaxDeps> deps{};
    o.unresolved = 0;
    for (OpRef dep : o.deps) {
      if (!ended(dep)) {
        deps[o.unresolved++] = dep;
      } else if (dep != 0 && isCurrent(dep)) {
        o.ready_ns = std::max(o.ready_ns, op(dep).end_ns);
      }
    }
    o.deps = deps;
    o.state = OpState::kWaiting;
    linkEdges(lane, order[i]);
  }
  std::sort(order.begin(), order.begin() + count, [&](std::uint16_t a, std::uint16_t b) {
    const Op& x = ops[a];
    const Op& y = ops[b];
    const bool x_done = x.state == OpState::kDone;
    const bool y_done = y.state == OpState::kDone;
    if (x_done != y_done) return x_done;
    if (x_done) return x.done_order < y.done_order;
    return std::pair{x.ready_ns, x.seq} < std::pair{y.ready_ns, y.seq};
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    Op& o = ops[order[i]];
    if (o.state == OpState::kDone) linkLast(l, ops, ListId::kDone, order[i]);
    if (o.state == OpState::kWaiting && o.unresolved == 0) makeReady(lane, order[i]);
  }
  for (int e = 0; e < kEngineCount; ++e) refreshBusy(lane, e);
}

}  // namespace divvy::simgpu
