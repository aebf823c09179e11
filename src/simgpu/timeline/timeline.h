// Time on one simulated card: which context holds which engine at which time. It is computed, never
// slept. An operation starts at max(ready, engine free) and ends its cost later; contexts take
// turns on the compute engine in slices. A pure function of its inputs; the clock is an argument.
#pragma once

#include "timeline/timeline_state.h"

namespace divvy::simgpu {

// An operation. Dependencies that have ended, or are 0, cost nothing.
struct OpSpec {
  Engine engine = Engine::kNone;
  IntervalKind kind = IntervalKind::kOther;
  bool owner_ends = false;   // no cost: runs until finish() (spinning kernel, host function)
  bool attention = false;    // shows up in attentionBound()
  std::int8_t priority = 0;  // lower runs first, and takes over from a running higher one
  Nanos cost = 0;
  std::uint64_t bytes = 0;
  std::array<OpRef, kMaxDeps> deps{};
};

// The process behind a lane: its pid, and its record in the card file with the record's generation.
struct LaneOwner {
  std::uint32_t pid;
  std::uint32_t record;
  std::uint64_t generation;
};

// Gets every executed interval, under the card's lock. Adjoining intervals arrive one by one.
class IntervalSink {
 public:
  virtual ~IntervalSink() = default;
  virtual void ran(const Lane& lane, Engine engine, Nanos start_ns, Nanos end_ns) = 0;
};

// The state of an operation; `released` ones have ended, and their other fields are not valid.
struct OpView {
  bool released = false;
  OpState state = OpState::kFree;
  Nanos start_ns = 0;
  Nanos end_ns = 0;
};

// A view on shared state, as cheap as a pointer. Not thread-safe: every call requires the card's
// lock. `now` must not be earlier than in any call before; an earlier one is read as equal. All
// calls are bounded by the number of pending operations and of slices since the last call.
class Timeline {
 public:
  explicit Timeline(TimelineState* state, IntervalSink* sink = nullptr) : s_(*state), sink_(sink) {}

  // Makes zeroed memory an idle card at time `now`.
  static void init(TimelineState* state, const EngineConfig& config, Nanos now);

  // The lane the next addLane will use, kNoLane when all are taken.
  std::uint32_t pickLane() const;
  // Adds a context of a process. kNoLane if all lanes are taken.
  std::uint32_t addLane(const LaneOwner& owner);
  // Drops all pending operations of the lane as of the frontier. Call advance() first for a context
  // that is destroyed, but not for one of a dead process. Dependents in other lanes proceed.
  void dropLane(std::uint32_t lane);
  // Ends everything pending at `now` without running it (a context that faulted).
  void cancelPending(std::uint32_t lane, Nanos now);

  // How long the lane keeps an engine that others want too, from its next turn on.
  void setTimeslice(std::uint32_t lane, Nanos slice) { s_.lanes[lane].timeslice = slice; }

  // How many operations submit() would take now, launches excepted.
  std::uint32_t room(std::uint32_t lane) const { return kOpsPerLane - s_.lanes[lane].in_use; }
  // True when submit() would take a spec of this kind now.
  bool hasRoom(std::uint32_t lane, IntervalKind kind) const;
  // 0 without effect when there is no room. The op is ready at max(now, ends of its deps).
  OpRef submit(std::uint32_t lane, const OpSpec& spec, Nanos now);

  // Brings the card to `now`.
  void advance(Nanos now);
  // The owner reports that its op ended at `at`, clamped to [begin, now]. False: it does not run
  // now, because its turn has not come or its context does not hold the engine; report again later.
  bool finish(OpRef ref, Nanos at, Nanos now);

  OpView view(OpRef ref) const;
  bool ended(OpRef ref) const;
  // Completed operations of a lane, in the order of completion, until released. 0: none.
  OpRef firstDone(std::uint32_t lane) const;
  // Orders completions of different lanes.
  std::uint64_t doneOrder(OpRef ref) const;
  // Owner-ended operations that have begun: on the engine (kOpen) or without one (kHost).
  OpRef firstBegun(std::uint32_t lane, ListId list) const;
  OpRef nextBegun(OpRef ref) const;
  // The owner has seen that it began: no more attention until finish().
  void noticed(OpRef ref) { op(ref).attention = false; }
  // Another process waits for its end without this timeline, so the owner must check at that time.
  void requestAttention(OpRef ref) {
    if (ref != 0 && isCurrent(ref)) op(ref).attention = true;
  }
  // Gives the slot of a done operation back.
  void release(OpRef ref);

  // No operation of the lane that asks for attention can need it before the returned time, given
  // what is known now; kNever when none is pending.
  Nanos attentionBound(std::uint32_t lane) const;
  // The same for the end of one operation; kNever while it waits for an owner.
  Nanos endBound(OpRef ref) const;

  // The same for the earliest end of anything pending in the lane.
  Nanos earliestEnd(std::uint32_t lane) const;
  // The newest operation that has not ended and was submitted before `seq`; 0: none.
  OpRef newestPending(std::uint32_t lane, std::uint64_t seq) const;
  bool anyPending(std::uint32_t lane) const { return newestPending(lane, UINT64_MAX) != 0; }
  // Calls visit(ref, kind) for every operation of the lane that has not ended, newest first.
  template <typename Visit>
  void forEachPending(std::uint32_t lane, Visit visit) const {
    for (std::uint16_t slot = s_.lanes[lane].newest; slot != kNil; slot = op(lane, slot).older) {
      const Op& o = op(lane, slot);
      if (o.state != OpState::kDone) visit(refOf(lane, slot), o.kind);
    }
  }
  // Whether all operations of the lane have ended and no work is left for them.
  bool isDrained(std::uint32_t lane) const;
  // The number of the next submission.
  std::uint64_t nextSeq(std::uint32_t lane) const { return s_.lanes[lane].next_seq; }

  // Repairs everything derived after a lock holder died anywhere in a call above. At most the
  // step it was in is lost or counted twice.
  void recover();

  const TimelineState& state() const { return s_; }

 private:
  Op& op(std::uint32_t lane, std::uint32_t slot) const { return s_.ops[lane][slot]; }
  Op& op(OpRef ref) const { return s_.ops[laneOf(ref)][slotOf(ref)]; }
  OpRef refOf(std::uint32_t lane, std::uint32_t slot) const {
    return makeRef(lane, slot, op(lane, slot).seq);
  }
  bool isCurrent(OpRef ref) const;

  void resetLane(std::uint32_t lane);
  std::uint16_t allocateSlot(std::uint32_t lane);
  void linkEdges(std::uint32_t lane, std::uint16_t slot);
  void unlinkEdges(std::uint32_t lane, std::uint16_t slot);
  void makeReady(std::uint32_t lane, std::uint16_t slot);
  void complete(std::uint32_t lane, std::uint16_t slot, Nanos end);
  void readyDependents(Op& ended);
  void freeSlot(std::uint32_t lane, std::uint16_t slot);
  void estimate(std::uint32_t lane) const;
  Nanos available(std::uint32_t lane, int e) const;
  void rebuildLane(std::uint32_t lane);
  void relinkLane(std::uint32_t lane);
  bool holdsEngine(std::uint32_t lane, int e) const;
  void startOpen();

  void reschedule();
  void completeMarkers();
  void rescheduleEngine(int e);
  void switchTo(int e, std::uint32_t lane);
  bool othersBusy(const EngineState& g) const;
  std::uint32_t nextBusy(const EngineState& g) const;
  std::uint32_t rate(int e) const;
  Nanos nextTransition(int e) const;
  void progress(Nanos until);
  void completeFinished();
  void logRun(int e, bool ended);
  void stopRun(std::uint32_t lane, std::uint16_t slot, bool ended);
  void refreshBusy(std::uint32_t lane, int e);

  TimelineState& s_;
  IntervalSink* sink_;
};

}  // namespace divvy::simgpu
