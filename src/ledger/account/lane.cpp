#include "account/lane.h"

namespace divvy::ledger {
namespace {

// The next writer of a tag first records that the tag's operation had committed, which its presence
// proves. So at any instant an operation has committed exactly if its tag is in its word, or if its
// lane's `committed` has reached it.
void recordCommitted(const LaneSite& site, std::uint64_t tag_word) {
  const Tag tag = unpackTag(tag_word);
  // Earlier operations of this lane have finished. Sequence 0 is the initial state of a word.
  if (tag.seq == 0 || (tag.slot == site.slot && tag.lane == site.lane)) return;
  // Read after the tag, because the tag's process saw its slot ready before it committed. Higher
  // slots are the agent's fences, which need no record, and forgeries.
  if (tag.slot >= loadAcquire(site.control->slots_ready) || tag.slot >= kMaxSlots) return;
  raiseTo(site.report->slots[tag.slot].committed[tag.lane], tag.seq);
}

struct Intent {
  std::uint64_t seq;
  unsigned dev;
  std::uint32_t word;
};

// May be called again for the same operation until it commits. These fields are read only after the
// process has ended, and count only if the operation committed.
void begin(Lane& lane, const Intent& intent, std::uint64_t used_after) {
  // The compiler must keep an earlier store to `done` before this, because these fields still
  // belong to that operation. Program order suffices, because the fields are read only after the
  // process has ended.
  asm volatile("" ::: "memory");
  storeRelaxed(lane.used_after, used_after);
  storeRelaxed(lane.device, static_cast<std::uint32_t>(intent.dev));
  storeRelaxed(lane.word, intent.word);
  storeRelease(lane.seq, intent.seq);
}

void finish(Lane& lane, std::uint64_t seq, unsigned dev, std::uint64_t used_after) {
  storeRelease(lane.used[dev], used_after);
  storeRelease(lane.done, seq);
}

void abandon(Lane& lane, std::uint64_t seq) {
  storeRelease(lane.done, seq);
}

// The change that an operation makes to the word it read.
struct WordChange {
  bool allowed;
  std::uint64_t word_after;
  std::uint64_t used_after;
};
constexpr WordChange kNotAllowed{false, 0, 0};

// Runs one operation. `decide(bytes in the word, bytes in use)` runs at each try, after the word
// was read.
template <typename Decide>
inline LaneStep operate(const LaneSite& site, unsigned dev, std::uint32_t word,
                        std::uint64_t last_seq, Decide decide) {
  Lane& lane = site.laneRef();
  const Intent intent{loadRelaxed(lane.seq) + 1, dev, word};
  if (intent.seq > last_seq) return LaneStep::kRetired;
  const std::uint64_t tag = packTag({site.slot, site.lane, intent.seq});
  const std::uint64_t used = loadRelaxed(lane.used[dev]);
  Pair& target = wordAt(*site.report, dev, word);
  Pair seen = loadHalves(target);
  for (unsigned tries = 0; tries < kMaxTries; ++tries) {
    const WordChange change = decide(seen.low, used);
    if (!change.allowed) {
      if (tries != 0) abandon(lane, intent.seq);
      return LaneStep::kRefused;
    }
    begin(lane, intent, change.used_after);
    recordCommitted(site, seen.high);
    if (casPair(target, seen, {change.word_after, tag})) {
      finish(lane, intent.seq, dev, change.used_after);
      return LaneStep::kDone;
    }
  }
  abandon(lane, intent.seq);
  return LaneStep::kContended;
}

void fenceWord(const LaneSite& agent, Pair& word, std::uint64_t seq) {
  Pair seen = loadHalves(word);
  recordCommitted(agent, seen.high);
  casPair(word, seen, {seen.low, packTag({kMaxSlots, 0, seq})});
}

}  // namespace

std::uint64_t outsideBytes(const ControlPage& control, unsigned dev) {
  return (control.header.flags & kOneContextOutside) != 0 ? control.devices[dev].context_bytes : 0;
}

std::uint64_t Limits::admissible() const {
  const std::uint64_t ceiling = loadAcquire(device->mem_ceiling);
  const std::uint64_t headroom = loadAcquire(device->headroom_bytes);
  const std::uint64_t shared = ceiling > headroom ? ceiling - headroom : 0;
  return (own_limit != 0 && own_limit < shared ? own_limit : shared) + outside;
}

LaneStep admitOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes,
                     const Limits& limits) {
  // The limit is read after the word. The agent lowers the limit first and changes the tags then.
  // So a compare-and-swap that succeeds afterwards has read the lower limit (README: fences).
  const LaneStep step = operate(site, dev, kTotalWord, kLastTenantSeq,
                                [&](std::uint64_t total, std::uint64_t used) -> WordChange {
                                  const std::uint64_t limit = limits.admissible();
                                  if (bytes > limit || total > limit - bytes) return kNotAllowed;
                                  return {true, total + bytes, saturatingAdd(used, bytes)};
                                });
  if (step == LaneStep::kDone) bumpOwned(site.laneRef().grants, 1);
  return step;
}

LaneStep spendOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes,
                     const Limits& limits) {
  const Pair& total = site.report->devices[dev].total;
  const LaneStep step = operate(site, dev, spareWord(site.slot, site.lane), kLastTenantSeq,
                                [&](std::uint64_t spare, std::uint64_t used) -> WordChange {
                                  if (spare < bytes) return kNotAllowed;
                                  // The bytes in use stay below the total, and the total never
                                  // grows above the limit. So a lowered limit needs no other check.
                                  if (loadAcquire(total.low) > limits.admissible())
                                    return kNotAllowed;
                                  return {true, spare - bytes, saturatingAdd(used, bytes)};
                                });
  if (step == LaneStep::kDone) bumpOwned(site.laneRef().grants, 1);
  return step;
}

LaneStep stockOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes) {
  const LaneStep step = operate(site, dev, spareWord(site.slot, site.lane), kLastTenantSeq,
                                [&](std::uint64_t spare, std::uint64_t used) -> WordChange {
                                  if (used < bytes) return kNotAllowed;
                                  return {true, saturatingAdd(spare, bytes), used - bytes};
                                });
  if (step == LaneStep::kDone) bumpOwned(site.laneRef().releases, 1);
  return step;
}

LaneStep refundOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes,
                      std::uint64_t last_seq, std::uint64_t* missing) {
  std::uint64_t lacking = 0;
  const LaneStep step = operate(site, dev, kTotalWord, last_seq,
                                [&](std::uint64_t total, std::uint64_t used) -> WordChange {
                                  const std::uint64_t part = bytes < used ? bytes : used;
                                  lacking = part > total ? part - total : 0;
                                  return {true, total - (part - lacking), used - part};
                                });
  if (step == LaneStep::kDone) {
    bumpOwned(site.laneRef().releases, 1);
    *missing += lacking;
  }
  return step;
}

LaneStep drainOnLane(const LaneSite& site, unsigned dev, std::uint32_t word,
                     std::uint64_t last_seq) {
  return operate(site, dev, word, last_seq,
                 [&](std::uint64_t spare, std::uint64_t used) -> WordChange {
                   if (spare == 0) return kNotAllowed;
                   return {true, 0, saturatingAdd(used, spare)};
                 });
}

void fenceDevice(ReportPage& report, const ControlHeader& control, unsigned dev,
                 std::uint64_t seq) {
  const LaneSite agent{&report, &control, kMaxSlots, 0};
  fenceWord(agent, report.devices[dev].total, seq);
  const unsigned ready = loadAcquire(control.slots_ready);
  for (unsigned slot = 0; slot < ready && slot < kMaxSlots; ++slot) {
    for (Lane& lane : report.slots[slot].lanes) {
      // An operation that read bytes in a word that is empty by now finds its tag changed.
      if (loadAcquire(lane.spare[dev].low) != 0) fenceWord(agent, lane.spare[dev], seq);
    }
  }
}

bool resolveLane(const LaneSite& site, unsigned device_count) {
  Lane& lane = site.laneRef();
  const std::uint64_t seq = loadAcquire(lane.seq);
  const std::uint64_t done = loadAcquire(lane.done);
  if (seq == done) return true;
  const std::uint32_t dev = loadRelaxed(lane.device);
  const std::uint32_t word = loadRelaxed(lane.word);
  const unsigned ready = loadAcquire(site.control->slots_ready);
  if (seq != done + 1 || seq > kMaxSeq || dev >= device_count || word > ready * kLanes) {
    abandon(lane, seq);
    return false;
  }
  // The tag is read first: if it was overwritten, its overwriter raised `committed` before that.
  const std::uint64_t tag = loadAcquire(wordAt(*site.report, dev, word).high);
  const bool committed = tag == packTag({site.slot, site.lane, seq}) ||
                         loadAcquire(site.slotRef().committed[site.lane]) >= seq;
  if (committed) {
    finish(lane, seq, dev, loadRelaxed(lane.used_after));
  } else {
    abandon(lane, seq);
  }
  return true;
}

}  // namespace divvy::ledger
