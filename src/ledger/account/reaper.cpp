#include "account/reaper.h"

#include "account/lane.h"

namespace divvy::ledger {
namespace {

// Sequence numbers that a clean-up of one lane may need, with room for repeats.
constexpr std::uint64_t kSeqNeeded = 4 * kMaxDevices;

// Marks the slot as being reaped; the mark survives the death of this process. Returns false if the
// slot must not be reaped here.
bool takeOver(Slot& slot, std::uint64_t generation, bool resume) {
  Pair seen = loadHalves(slot.state);
  // The slot of a dead process is changed only by this process; a second try resolves mixed halves.
  for (int tries = 0; tries < 2; ++tries) {
    const Phase phase = statePhase(seen.low);
    if (stateGeneration(seen.low) != generation || phase == Phase::kFree) return false;
    if (phase == Phase::kRetired || (phase != Phase::kLive && !resume)) return false;
    if (casPair(slot.state, seen, {packState(generation, Phase::kReaping), seen.high})) return true;
  }
  return false;
}

bool exhausted(const Slot& slot) {
  for (const Lane& lane : slot.lanes) {
    if (loadAcquire(lane.seq) > kMaxSeq - kSeqNeeded) return true;
  }
  return false;
}

// Refunds all bytes that a lane has in use or spare. Returns false if a word kept changing.
bool drainLane(const LaneSite& site, unsigned device_count, ReapedSlot& reaped) {
  Lane& lane = site.laneRef();
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) {
    if (dev >= device_count) {  // no such device: a nonzero value is forged
      storeRelease(lane.used[dev], std::uint64_t{0});
      storeRelease(lane.spare[dev].low, std::uint64_t{0});
      continue;
    }
    const LaneStep taken = drainOnLane(site, dev, spareWord(site.slot, site.lane), kMaxSeq);
    if (taken == LaneStep::kContended) return false;
    const std::uint64_t used = loadAcquire(lane.used[dev]);
    if (used == 0) continue;
    std::uint64_t missing = 0;
    if (refundOnLane(site, dev, used, kMaxSeq, &missing) != LaneStep::kDone) return false;
    reaped.refunded[dev] = saturatingAdd(reaped.refunded[dev], used - missing);
  }
  return true;
}

}  // namespace

ReapedSlot reapSlot(ReportPage& report, const ControlHeader& control, unsigned index,
                    std::uint64_t generation, unsigned device_count, bool resume) noexcept {
  ReapedSlot reaped;
  Slot& slot = report.slots[index];
  if (!takeOver(slot, generation, resume)) return reaped;
  if (exhausted(slot)) {
    // Only a dishonest process gets here. Its bytes stay counted against its own tenant.
    storeRelease(slot.state.low, packState(generation, Phase::kRetired));
    reaped.outcome = ReapStep::kRetired;
    return reaped;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const LaneSite site{&report, &control, index, lane};
    resolveLane(site, device_count);
    if (!drainLane(site, device_count, reaped)) {
      reaped.outcome = ReapStep::kContended;
      return reaped;
    }
    storeRelaxed(site.laneRef().moving, std::uint64_t{0});
  }
  // Must precede freeing the slot, because the next owner sets these bits again.
  __atomic_fetch_and(&report.header.spare_map[index / 64], ~(1ull << (index % 64)),
                     __ATOMIC_RELAXED);
  storeRelaxed(slot.context_bytes, std::uint64_t{0});
  storeRelaxed(slot.last_launch_ns, std::uint64_t{0});
  storeRelaxed(slot.exec_id, std::uint64_t{0});
  Pair reaping{packState(generation, Phase::kReaping), loadRelaxed(slot.state.high)};
  casPair(slot.state, reaping, {packState(generation + 1, Phase::kFree), 0});
  std::uint32_t& hint = report.header.claim_hint;
  if (loadRelaxed(hint) > index) storeRelaxed(hint, std::uint32_t{index});
  reaped.outcome = ReapStep::kFreed;
  return reaped;
}

}  // namespace divvy::ledger
