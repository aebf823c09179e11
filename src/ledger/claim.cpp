#include "claim.h"

#include "ledger/registration.h"
#include "patience.h"

namespace divvy::ledger {
std::uint64_t claimSlotFor(const TenantPages& pages, const Owner& owner) {
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
    return packClaim(i, generation);
  }
  return 0;
}

void abandonSlot(const TenantPages& pages, std::uint64_t claim, const Owner& owner) {
  Pair mine{packState(claimGeneration(claim), Phase::kLive), packOwner(owner)};
  casPair(pages.report().slots[claimSlot(claim)].state, mine,
          {packState(claimGeneration(claim) + 1, Phase::kFree), 0});
}

bool awaitMoreSlots(const TenantPages& pages, unsigned before, std::uint32_t pid) {
  if (before >= pages.control().header.slots_capacity) return false;
  if (!announce(pages, kWantMoreSlots, 0, pid)) return false;
  for (Patience patience(kLongestWaitNs); pages.slotsReady() <= before && patience.wait();) {
  }
  return pages.slotsReady() > before;
}

}  // namespace divvy::ledger
