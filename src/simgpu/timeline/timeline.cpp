#include "timeline/timeline.h"

#include <algorithm>

#include "timeline/timeline_lists.h"

namespace divvy::simgpu {

namespace {

constexpr std::uint64_t kWorkPerNano = 1000;

void setBit(LaneBits& bits, std::uint32_t lane) {
  bits[lane / 64] |= 1ULL << lane % 64;
}

}  // namespace

void Timeline::init(TimelineState* state, const EngineConfig& config, Nanos now) {
  state->config = config;
  state->frontier = now;
  state->log.horizon = now;
  state->next_done_order = 1;
  state->next_context_uid = 1;
  for (EngineState& engine : state->engines) {
    engine.lane = engine.resident = kNoLane;
    engine.op = kNil;
    engine.cursor = kMaxLanes - 1;
  }
}

std::uint32_t Timeline::pickLane() const {
  for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
    if (s_.lanes[lane].live == 0) return lane;
  }
  return kNoLane;
}

void Timeline::resetLane(std::uint32_t lane) {
  Lane& l = s_.lanes[lane];
  for (std::uint32_t slot = 0; slot < l.slots_touched; ++slot)
    op(lane, slot).state = OpState::kFree;
  l.lists.fill(OpList{});
  l.free_head = l.oldest = l.newest = kNil;
  l.slots_touched = 0;
  l.pending_launches = l.in_use = 0;
  s_.due[lane / 64] &= ~(1ULL << lane % 64);
  for (int e = 0; e < kEngineCount; ++e) refreshBusy(lane, e);
}

std::uint32_t Timeline::addLane(const LaneOwner& owner) {
  const std::uint32_t lane = pickLane();
  if (lane == kNoLane) return kNoLane;
  Lane& l = s_.lanes[lane];
  resetLane(lane);
  l.pid = owner.pid;
  l.record = owner.record;
  l.generation = owner.generation;
  l.timeslice = s_.config.timeslice;
  l.context_uid = s_.next_context_uid++;
  l.totals = {};
  l.last_record = {};
  l.next_seq = std::max<std::uint64_t>(l.next_seq, 1);
  ++s_.live_lanes;
  orderStores();
  l.live = 1;
  orderStores();
  return lane;
}

void Timeline::dropLane(std::uint32_t lane) {
  cancelPending(lane, s_.frontier);
  s_.lanes[lane].live = 0;
  orderStores();
  resetLane(lane);
  --s_.live_lanes;
  for (EngineState& engine : s_.engines) {
    if (engine.lane == lane) engine.lane = kNoLane;
    if (engine.resident == lane) engine.resident = kNoLane;
  }
  reschedule();
}

void Timeline::cancelPending(std::uint32_t lane, Nanos now) {
  advance(now);
  Lane& l = s_.lanes[lane];
  for (std::uint16_t slot = l.oldest; slot != kNil;) {
    Op& o = op(lane, slot);
    const std::uint16_t newer = o.newer;
    if (o.state != OpState::kDone) {
      if (o.state == OpState::kWaiting) unlinkEdges(lane, slot);
      stopRun(lane, slot, false);
      complete(lane, slot, s_.frontier);
    }
    slot = newer;
  }
  reschedule();
}

bool Timeline::hasRoom(std::uint32_t lane, IntervalKind kind) const {
  const Lane& l = s_.lanes[lane];
  return l.in_use < kOpsPerLane &&
         (kind != IntervalKind::kKernel || l.pending_launches < kMaxPendingLaunches);
}

std::uint16_t Timeline::allocateSlot(std::uint32_t lane) {
  Lane& l = s_.lanes[lane];
  std::uint16_t slot = l.free_head;
  if (slot == kNil) {
    slot = l.slots_touched++;
  } else {
    l.free_head = op(lane, slot).next;
  }
  ++l.in_use;
  return slot;
}

OpRef Timeline::submit(std::uint32_t lane, const OpSpec& spec, Nanos now) {
  advance(now);
  if (!hasRoom(lane, spec.kind)) return 0;
  Lane& l = s_.lanes[lane];
  const std::uint16_t slot = allocateSlot(lane);
  Op& o = op(lane, slot);
  o.seq = l.next_seq++;
  o.deps = {};
  o.first_edge = kNoEdge;
  o.prev = o.next = kNil;
  o.ready_ns = s_.frontier;
  o.start_ns = o.end_ns = 0;
  o.work = std::max<Nanos>(spec.cost, 1) * kWorkPerNano;
  o.bytes = spec.bytes;
  o.list = ListId::kNone;
  o.engine = spec.engine;
  o.kind = spec.kind;
  o.priority = spec.priority;
  o.unresolved = 0;
  o.owner_ends = spec.owner_ends;
  o.attention = spec.attention;
  for (OpRef dep : spec.deps) {
    if (!ended(dep)) o.deps[o.unresolved++] = dep;
  }
  orderStores();
  o.state = OpState::kWaiting;  // from here on a recovery keeps it
  orderStores();
  linkNewest(l, s_.ops[lane], slot);
  if (spec.kind == IntervalKind::kKernel) ++l.pending_launches;
  linkEdges(lane, slot);
  if (o.unresolved == 0) makeReady(lane, slot);
  const OpRef ref = refOf(lane, slot);
  reschedule();
  return ref;
}

bool Timeline::isCurrent(OpRef ref) const {
  const Op& o = op(ref);
  return o.seq == seqOf(ref) && o.state != OpState::kFree;
}

bool Timeline::ended(OpRef ref) const {
  return ref == 0 || !isCurrent(ref) || op(ref).state == OpState::kDone;
}

void Timeline::linkEdges(std::uint32_t lane, std::uint16_t slot) {
  Op& o = op(lane, slot);
  for (std::uint32_t i = 0; i < o.unresolved; ++i) {
    Op& dep = op(o.deps[i]);
    o.edge_next[i] = dep.first_edge;
    dep.first_edge = packEdge({lane, slot, i});
  }
}

// Removes the edges of an operation that ends early from the lists of its dependencies.
void Timeline::unlinkEdges(std::uint32_t lane, std::uint16_t slot) {
  Op& o = op(lane, slot);
  for (std::uint32_t i = 0; i < kMaxDeps; ++i) {
    if (ended(o.deps[i])) continue;
    std::uint32_t* link = &op(o.deps[i]).first_edge;
    while (*link != kNoEdge && *link != packEdge({lane, slot, i})) {
      const Edge edge = unpackEdge(*link);
      link = &op(edge.lane, edge.slot).edge_next[edge.index];
    }
    if (*link != kNoEdge) *link = o.edge_next[i];
  }
}

void Timeline::makeReady(std::uint32_t lane, std::uint16_t slot) {
  Lane& l = s_.lanes[lane];
  Op& o = op(lane, slot);
  o.state = OpState::kReady;
  if (o.engine == Engine::kNone) {
    linkLast(l, s_.ops[lane], o.owner_ends ? ListId::kHost : ListId::kDue, slot);
    if (!o.owner_ends) setBit(s_.due, lane);
    return;
  }
  const int e = static_cast<int>(o.engine);
  if (o.owner_ends) {
    linkLast(l, s_.ops[lane], ListId::kOpen, slot);
  } else {
    linkByPriority(l, s_.ops[lane], static_cast<ListId>(e), slot);
  }
  refreshBusy(lane, e);
}

void Timeline::complete(std::uint32_t lane, std::uint16_t slot, Nanos end) {
  Lane& l = s_.lanes[lane];
  Op& o = op(lane, slot);
  o.end_ns = end;
  o.done_order = s_.next_done_order++;
  orderStores();
  o.state = OpState::kDone;
  orderStores();
  unlink(l, s_.ops[lane], slot);
  linkLast(l, s_.ops[lane], ListId::kDone, slot);
  if (o.kind == IntervalKind::kKernel) --l.pending_launches;
  if (o.engine != Engine::kNone) refreshBusy(lane, static_cast<int>(o.engine));
  readyDependents(o);
}

void Timeline::readyDependents(Op& ended_op) {
  for (std::uint32_t packed = ended_op.first_edge; packed != kNoEdge;) {
    const Edge edge = unpackEdge(packed);
    Op& o = op(edge.lane, edge.slot);
    packed = o.edge_next[edge.index];
    o.ready_ns = std::max(o.ready_ns, ended_op.end_ns);
    if (--o.unresolved == 0) makeReady(edge.lane, edge.slot);
  }
  ended_op.first_edge = kNoEdge;
}

bool Timeline::finish(OpRef ref, Nanos at, Nanos now) {
  advance(now);
  if (ref == 0 || !isCurrent(ref)) return false;
  Op& o = op(ref);
  if (!o.owner_ends || o.state != OpState::kReady) return false;
  const int e = static_cast<int>(o.engine);
  if (o.engine != Engine::kNone && !(holdsEngine(laneOf(ref), e) && o.start_ns != 0)) return false;
  if (o.start_ns == 0) o.start_ns = o.ready_ns;
  o.attention = true;
  const auto slot = static_cast<std::uint16_t>(slotOf(ref));
  stopRun(laneOf(ref), slot, true);
  complete(laneOf(ref), slot, std::clamp(at, o.start_ns, s_.frontier));
  reschedule();
  return true;
}

OpView Timeline::view(OpRef ref) const {
  if (ref == 0 || !isCurrent(ref)) return {.released = true};
  const Op& o = op(ref);
  return {.released = false, .state = o.state, .start_ns = o.start_ns, .end_ns = o.end_ns};
}

OpRef Timeline::firstDone(std::uint32_t lane) const {
  return firstBegun(lane, ListId::kDone);
}

std::uint64_t Timeline::doneOrder(OpRef ref) const {
  return op(ref).done_order;
}

OpRef Timeline::firstBegun(std::uint32_t lane, ListId list) const {
  const std::uint16_t slot = listOf(s_.lanes[lane], list).head;
  return slot == kNil ? 0 : refOf(lane, slot);
}

OpRef Timeline::nextBegun(OpRef ref) const {
  const std::uint16_t slot = op(ref).next;
  return slot == kNil ? 0 : refOf(laneOf(ref), slot);
}

void Timeline::release(OpRef ref) {
  if (ref == 0 || !isCurrent(ref) || op(ref).state != OpState::kDone) return;
  freeSlot(laneOf(ref), static_cast<std::uint16_t>(slotOf(ref)));
}

void Timeline::freeSlot(std::uint32_t lane, std::uint16_t slot) {
  Lane& l = s_.lanes[lane];
  Op& o = op(lane, slot);
  o.state = OpState::kFree;
  orderStores();
  unlink(l, s_.ops[lane], slot);
  unlinkAge(l, s_.ops[lane], slot);
  o.next = l.free_head;
  l.free_head = slot;
  --l.in_use;
}

}  // namespace divvy::simgpu
