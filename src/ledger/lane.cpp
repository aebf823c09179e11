#include "lane.h"

namespace divvy::ledger {
namespace {

// Whoever overwrites a tag first writes down that its operation had committed, which the tag's
// presence proves. So an operation has committed if and only if its tag stands in the total or its
// lane's `committed` has reached it, whenever one looks.
void recordCommitted(const LaneSite& site, std::uint64_t tag_word) {
  const Tag tag = unpackTag(tag_word);
  // Our own lane's earlier operations are finished. Sequence 0 is the total's first state.
  if (tag.seq == 0 || (tag.slot == site.slot && tag.lane == site.lane)) return;
  // Read after the tag: the tag's process saw its slot ready before it committed. Beyond it stand
  // the agent's fences, which have nothing to record, and forgeries.
  if (tag.slot >= loadAcquire(site.control->slots_ready) || tag.slot >= kMaxSlots) return;
  raiseTo(site.report->slots[tag.slot].committed[tag.lane], tag.seq);
}

void begin(Lane& lane, std::uint64_t seq, unsigned dev, std::int64_t delta,
           std::uint64_t used_after) {
  // Keeps an earlier operation's `done` in front: until then these fields are still its own.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  storeRelaxed(lane.delta, delta);
  storeRelaxed(lane.used_after, used_after);
  storeRelaxed(lane.device, static_cast<std::uint32_t>(dev));
  storeRelease(lane.seq, seq);
}

void finish(Lane& lane, std::uint64_t seq, unsigned dev, std::uint64_t used_after) {
  storeRelease(lane.used[dev], used_after);
  storeRelease(lane.done, seq);
}

void forget(Lane& lane, std::uint64_t seq) {
  storeRelease(lane.done, seq);
}

}  // namespace

std::uint64_t admissibleBytes(const DeviceControl& limits, std::uint64_t own_limit) {
  const std::uint64_t ceiling = loadAcquire(limits.mem_ceiling);
  const std::uint64_t headroom = loadAcquire(limits.headroom_bytes);
  const std::uint64_t shared = ceiling > headroom ? ceiling - headroom : 0;
  return own_limit != 0 && own_limit < shared ? own_limit : shared;
}

Step addOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const DeviceControl& limits,
               std::uint64_t own_limit) {
  Lane& lane = site.laneRef();
  Pair& total = site.report->devices[dev].total;
  const std::uint64_t seq = loadRelaxed(lane.seq) + 1;
  if (seq > kLastTenantSeq) return Step::kRetired;
  const std::uint64_t tag = packTag({site.slot, site.lane, seq});
  const std::uint64_t used_after = saturatingAdd(loadRelaxed(lane.used[dev]), bytes);
  bool begun = false;
  Pair seen = loadHalves(total);
  for (unsigned tries = 0; tries < kMaxTries; ++tries) {
    // After the total: the agent lowers the ceiling first and then changes the total's tag, so a
    // compare-and-swap that succeeds behind that has seen the lower ceiling (README: fences).
    const std::uint64_t limit = admissibleBytes(limits, own_limit);
    if (bytes > limit || seen.low > limit - bytes) {
      if (begun) forget(lane, seq);
      bumpOwned(lane.refusals, 1);
      return Step::kOverLimit;
    }
    if (!begun) begin(lane, seq, dev, static_cast<std::int64_t>(bytes), used_after);
    begun = true;
    recordCommitted(site, seen.high);
    if (casPair(total, seen, {seen.low + bytes, tag})) {
      finish(lane, seq, dev, used_after);
      bumpOwned(lane.grants, 1);
      return Step::kDone;
    }
  }
  forget(lane, seq);
  return Step::kContended;
}

Step subtractOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, std::uint64_t last_seq,
                    std::uint64_t* missing) {
  Lane& lane = site.laneRef();
  Pair& total = site.report->devices[dev].total;
  const std::uint64_t seq = loadRelaxed(lane.seq) + 1;
  if (seq > last_seq) return Step::kRetired;
  const std::uint64_t tag = packTag({site.slot, site.lane, seq});
  const std::uint64_t used_before = loadRelaxed(lane.used[dev]);
  const std::uint64_t taken = bytes < used_before ? bytes : used_before;
  begin(lane, seq, dev, static_cast<std::int64_t>(0 - taken), used_before - taken);
  Pair seen = loadHalves(total);
  for (unsigned tries = 0; tries < kMaxTries; ++tries) {
    recordCommitted(site, seen.high);
    const std::uint64_t lacking = taken > seen.low ? taken - seen.low : 0;
    if (casPair(total, seen, {seen.low - (taken - lacking), tag})) {
      finish(lane, seq, dev, used_before - taken);
      bumpOwned(lane.releases, 1);
      *missing += lacking;
      return Step::kDone;
    }
  }
  forget(lane, seq);
  return Step::kContended;
}

void fenceTotal(ReportPage& report, const ControlHeader& control, unsigned dev, std::uint64_t seq) {
  const LaneSite agent{&report, &control, kMaxSlots, 0};
  Pair& total = report.devices[dev].total;
  Pair seen = loadHalves(total);
  recordCommitted(agent, seen.high);
  casPair(total, seen, {seen.low, packTag({kMaxSlots, 0, seq})});
}

bool resolveLane(const LaneSite& site, unsigned device_count) {
  Lane& lane = site.laneRef();
  const std::uint64_t seq = loadAcquire(lane.seq);
  const std::uint64_t done = loadAcquire(lane.done);
  if (seq == done) return true;
  const std::uint32_t dev = loadRelaxed(lane.device);
  if (seq != done + 1 || dev >= device_count || seq > kMaxSeq) {
    forget(lane, seq);
    return false;
  }
  // The tag first: if it is gone already, its overwriter has raised `committed` before that.
  const std::uint64_t tag = loadAcquire(site.report->devices[dev].total.high);
  const bool committed = tag == packTag({site.slot, site.lane, seq}) ||
                         loadAcquire(site.slotRef().committed[site.lane]) >= seq;
  if (committed) {
    finish(lane, seq, dev, loadRelaxed(lane.used_after));
  } else {
    forget(lane, seq);
  }
  return true;
}

}  // namespace divvy::ledger
