// Intrusive lists of operations within one lane, by slot number.
#pragma once

#include "timeline/timeline_state.h"

namespace divvy::simgpu {

using LaneOps = std::array<Op, kOpsPerLane>;

inline OpList& listOf(Lane& lane, ListId id) {
  return lane.lists[static_cast<int>(id)];
}
inline const OpList& listOf(const Lane& lane, ListId id) {
  return lane.lists[static_cast<int>(id)];
}

// Puts `slot` behind `after` (kNil: in front).
inline void linkAfter(Lane& lane, LaneOps& ops, ListId id, std::uint16_t slot,
                      std::uint16_t after) {
  OpList& list = listOf(lane, id);
  Op& op = ops[slot];
  op.list = id;
  op.prev = after;
  op.next = after == kNil ? list.head : ops[after].next;
  (op.prev == kNil ? list.head : ops[op.prev].next) = slot;
  (op.next == kNil ? list.tail : ops[op.next].prev) = slot;
}

inline void linkLast(Lane& lane, LaneOps& ops, ListId id, std::uint16_t slot) {
  linkAfter(lane, ops, id, slot, listOf(lane, id).tail);
}

// Behind the last operation with a priority at least as urgent: first come, first served at each
// level.
inline void linkByPriority(Lane& lane, LaneOps& ops, ListId id, std::uint16_t slot) {
  std::uint16_t after = listOf(lane, id).tail;
  while (after != kNil && ops[after].priority > ops[slot].priority) after = ops[after].prev;
  linkAfter(lane, ops, id, slot, after);
}

inline void unlink(Lane& lane, LaneOps& ops, std::uint16_t slot) {
  Op& op = ops[slot];
  if (op.list == ListId::kNone) return;
  OpList& list = listOf(lane, op.list);
  (op.prev == kNil ? list.head : ops[op.prev].next) = op.next;
  (op.next == kNil ? list.tail : ops[op.next].prev) = op.prev;
  op.prev = op.next = kNil;
  op.list = ListId::kNone;
}

inline void linkNewest(Lane& lane, LaneOps& ops, std::uint16_t slot) {
  ops[slot].older = lane.newest;
  ops[slot].newer = kNil;
  (lane.newest == kNil ? lane.oldest : ops[lane.newest].newer) = slot;
  lane.newest = slot;
}

inline void unlinkAge(Lane& lane, LaneOps& ops, std::uint16_t slot) {
  Op& op = ops[slot];
  (op.older == kNil ? lane.oldest : ops[op.older].newer) = op.newer;
  (op.newer == kNil ? lane.newest : ops[op.newer].older) = op.older;
}

// An edge is one dependency of one operation, as a number that fits a list link.
struct Edge {
  std::uint32_t lane;
  std::uint16_t slot;
  std::uint32_t index;
};
constexpr std::uint32_t packEdge(Edge edge) {
  return edge.lane << 13 | std::uint32_t{edge.slot} << 2 | edge.index;
}
constexpr Edge unpackEdge(std::uint32_t packed) {
  return {packed >> 13, static_cast<std::uint16_t>(packed >> 2 & (kOpsPerLane - 1)), packed & 3};
}

}  // namespace divvy::simgpu
