#include "claim.h"

#include "janitor.h"
#include "ledger/registration.h"
#include "patience.h"

namespace divvy::ledger {
void reapOwnPast(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id) {
  if (owner.start == 0 || exec_id == 0) return;
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
  for (unsigned i = 0; i < ready; ++i) {
    Slot& slot = pages.report().slots[i];
    Pair seen = loadHalves(slot.state);
    if (statePhase(seen.low) != Phase::kFree) continue;
    const std::uint64_t generation = stateGeneration(seen.low);
    if (!casPair(slot.state, seen, {packState(generation, Phase::kLive), packOwner(owner)})) {
      continue;
    }
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

bool awaitMoreSlots(const TenantPages& pages, unsigned before, std::uint32_t pid) {
  if (before >= pages.control().header.slots_capacity) return false;
  if (!announce(pages, kWantMoreSlots, 0, pid)) return false;
  for (Patience patience(kLongestWaitNs); pages.slotsReady() <= before && patience.wait();) {
  }
  return pages.slotsReady() > before;
}

}  // namespace divvy::ledger
