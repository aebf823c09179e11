#include "account/slot_claim.h"

#include "account/reaper.h"
#include "ledger/registration.h"
#include "process/bounded_wait.h"

namespace divvy::ledger {
namespace {

// Without such a map in the pages every owner may have an earlier image.
bool mayHavePast(const ReportHeader& header, const Owner& owner) {
  const unsigned bit = ownerBit(owner);
  return (header.id.features & kFeatureOwnerMap) == 0 ||
         (loadRelaxed(header.owner_map[bit / 64]) >> (bit % 64) & 1) != 0;
}

}  // namespace

void reapOwnPast(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id) {
  if (owner.start == 0 || exec_id == 0) return;
  ReportHeader& header = pages.report().header;
  if (!mayHavePast(header, owner)) {
    // Precedes the claim, so that a later program image of this process finds it.
    const unsigned bit = ownerBit(owner);
    __atomic_fetch_or(&header.owner_map[bit / 64], 1ull << (bit % 64), __ATOMIC_RELAXED);
    return;
  }
  const unsigned ready = pages.slotsReady();
  for (unsigned i = 0; i < ready; ++i) {
    const Slot& slot = pages.report().slots[i];
    const Pair state = loadHalves(slot.state);
    if (statePhase(state.low) != Phase::kLive || state.high != packOwner(owner)) continue;
    const std::uint64_t claimed_by = loadAcquire(slot.exec_id);
    if (claimed_by == 0 || claimed_by == exec_id) continue;
    reapSlot(pages.report(), pages.control().header, i, stateGeneration(state.low),
             pages.deviceCount(), false);
  }
}

std::uint64_t claimSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id) {
  const unsigned ready = pages.slotsReady();
  std::uint32_t& hint = pages.report().header.claim_hint;
  const unsigned first = loadRelaxed(hint);
  for (unsigned n = 0; n < ready; ++n) {
    const unsigned i = (first % ready + n) % ready;
    Slot& slot = pages.report().slots[i];
    Pair seen = loadHalves(slot.state);
    if (statePhase(seen.low) != Phase::kFree) continue;
    const std::uint64_t generation = stateGeneration(seen.low);
    if (!casPair(slot.state, seen, {packState(generation, Phase::kLive), packOwner(owner)})) {
      continue;
    }
    storeRelaxed(hint, std::uint32_t{i + 1});
    storeRelaxed(slot.context_bytes, std::uint64_t{0});
    storeRelaxed(slot.last_launch_ns, std::uint64_t{0});
    storeRelaxed(slot.flags, std::uint32_t{0});
    storeRelease(slot.exec_id, exec_id);
    return packClaim(i, generation);
  }
  return 0;
}

void abandonSlot(const TenantPages& pages, std::uint64_t claim, const Owner& owner) {
  Slot& slot = pages.report().slots[claimSlot(claim)];
  storeRelease(slot.exec_id, std::uint64_t{0});
  Pair mine{packState(claimGeneration(claim), Phase::kLive), packOwner(owner)};
  casPair(slot.state, mine, {packState(claimGeneration(claim) + 1, Phase::kFree), 0});
}

std::uint64_t awaitSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id) {
  if (pages.slotsReady() >= pages.control().header.slots_capacity) return 0;
  if (!announce(pages, kWantMoreSlots, 0, owner.pid)) return 0;
  std::uint64_t claim = 0;
  for (BoundedWait patience(kLongestWaitNs); claim == 0 && patience.wait();) {
    claim = claimSlotFor(pages, owner, exec_id);
  }
  return claim;
}

}  // namespace divvy::ledger
