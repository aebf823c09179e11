// The shared state of one card's engines, laid out for a file that several processes map. Plain
// fixed-width data without pointers or locks: Timeline gives it behaviour, EngineFile its place.
#pragma once

#include <array>
#include <cstdint>

#include "timeline/interval_log.h"

namespace divvy::simgpu {

// In the card's clock (card_clock.h).
using Nanos = std::uint64_t;
inline constexpr Nanos kNever = UINT64_MAX;

// The engine that an operation occupies while it runs. kNone takes no engine: markers, host
// functions.
enum class Engine : std::uint8_t { kCompute, kCopyIn, kCopyOut, kNone };
inline constexpr int kEngineCount = 3;

// A lane is one context's place on the card. 512 is above what a card's memory can hold contexts.
inline constexpr std::uint32_t kMaxLanes = 512;
// Per lane: 1024 launches, as the hardware queue has, and as many copies, markers and callbacks.
inline constexpr std::uint32_t kOpsPerLane = 2048;
inline constexpr std::uint32_t kMaxPendingLaunches = 1024;
inline constexpr std::uint32_t kMaxDeps = 4;

inline constexpr std::uint16_t kNoLane = 0xFFFF;
inline constexpr std::uint16_t kNil = 0xFFFF;
inline constexpr std::uint32_t kNoEdge = 0xFFFFFFFF;

// Identifies one submitted operation: lane, slot, and the lane's sequence number, which does not
// restart when slot or lane are reused. 0 is no operation.
using OpRef = std::uint64_t;
constexpr OpRef makeRef(std::uint32_t lane, std::uint32_t slot, std::uint64_t seq) {
  return std::uint64_t{lane} << 54 | std::uint64_t{slot} << 43 | (seq & ((1ULL << 43) - 1));
}
constexpr std::uint32_t laneOf(OpRef ref) {
  return static_cast<std::uint32_t>(ref >> 54);
}
constexpr std::uint32_t slotOf(OpRef ref) {
  return static_cast<std::uint32_t>(ref >> 43) & (kOpsPerLane - 1);
}
constexpr std::uint64_t seqOf(OpRef ref) {
  return ref & ((1ULL << 43) - 1);
}

enum class OpState : std::uint8_t { kFree, kWaiting, kReady, kDone };
// The list of its lane that links an operation; ready lists come first, one for each engine. kDue
// holds markers with all dependencies ended.
enum class ListId : std::uint8_t {
  kReady0,
  kReady1,
  kReady2,
  kOpen,
  kHost,
  kDue,
  kDone,
  kCount,
  kNone
};

struct OpList {
  std::uint16_t head = kNil;
  std::uint16_t tail = kNil;
};

struct Op {
  std::uint64_t seq;
  std::array<OpRef, kMaxDeps> deps;
  std::array<std::uint32_t, kMaxDeps> edge_next;  // next edge among the dependents of deps[i]
  std::uint32_t first_edge;                       // edges of those that depend on this
  std::uint16_t prev, next;                       // in the list named by `list`, or the free one
  Nanos ready_ns, start_ns, end_ns;
  std::uint64_t work;  // remaining work, in thousandths of a nanosecond at full rate
  std::uint64_t bytes;
  std::uint64_t bound;         // scratch of the wake-up estimate
  std::uint64_t done_order;    // card-wide order of completion
  std::uint16_t older, newer;  // in submission order, until released
  OpState state;
  ListId list;
  Engine engine;
  IntervalKind kind;
  std::int8_t priority;
  std::uint8_t unresolved;  // deps not yet done
  bool owner_ends;          // runs until Timeline::finish
  bool attention;           // its owner has something to do when it ends (or begins, owner_ends)
};

struct EngineTotals {
  Nanos busy_ns;
  std::uint64_t ops;
  std::uint64_t bytes;
};

struct Lane {
  std::uint32_t live;  // written last by addLane, first by dropLane
  std::uint32_t pid;
  std::uint32_t record;  // the process's record in the card file, and which of its users:
  std::uint32_t padding;
  std::uint64_t generation;
  std::uint64_t next_seq;
  Nanos timeslice;
  std::uint32_t context_uid;
  std::uint32_t pending_launches;
  std::uint32_t in_use;  // slots not free
  std::uint16_t free_head;
  std::uint16_t slots_touched;  // the rest were never used since the lane was taken
  std::uint16_t oldest, newest;
  std::array<OpList, static_cast<int>(ListId::kCount)> lists;
  std::array<EngineTotals, kEngineCount> totals;
  std::array<std::uint64_t, kEngineCount> last_record;  // for coalescing; index + 1
};

using LaneBits = std::array<std::uint64_t, kMaxLanes / 64>;

struct EngineState {
  std::uint16_t lane;      // holds the engine now
  std::uint16_t op;        // runs now, kNil: none
  std::uint16_t resident;  // ran last: another one costs a switch
  std::uint16_t cursor;    // round robin continues after this lane
  Nanos slice_end;
  Nanos switch_until;
  Nanos run_start;  // of the interval that is not in the log yet
  Nanos busy_ns;
  std::uint64_t switches;
  LaneBits busy;  // lanes with something to run
};

// How this card slices and copies; from its profile, constant once the file exists.
struct EngineConfig {
  Nanos timeslice = 2'048'000;           // NVIDIA's default, as reported
  Nanos switch_cost = 100'000;           // between contexts, compute engine only
  std::uint32_t duplex_permille = 1000;  // rate of each copy engine while both copy
  std::uint32_t reserved = 0;
};

struct TimelineState {
  EngineConfig config;
  Nanos frontier;  // everything before it is decided
  std::uint64_t next_done_order;
  std::uint32_t next_context_uid;
  std::uint32_t live_lanes;
  std::array<EngineState, kEngineCount> engines;
  LaneBits due;  // lanes with a non-empty kDue list
  std::array<Lane, kMaxLanes> lanes;
  IntervalLog log;
  std::array<std::array<Op, kOpsPerLane>, kMaxLanes> ops;  // sparse: touched by live lanes only
};

// Keeps the compiler from moving stores across. So a holder that ends early leaves a prefix of its
// writes, which is all that recovery relies on.
inline void orderStores() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

static_assert(sizeof(Op) <= 144);

}  // namespace divvy::simgpu
