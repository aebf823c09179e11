// Queries of an account. They change nothing.
#include "account/lane.h"
#include "account/lane_cache.h"
#include "account/process_state.h"
#include "ledger/account.h"

namespace divvy::ledger {

std::uint64_t Account::ceiling(unsigned dev) const {
  if (!validDevice(dev)) return 0;
  const std::uint64_t ceiling = loadAcquire(pages_.control().devices[dev].mem_ceiling);
  return own_limit_ != 0 && own_limit_ < ceiling ? own_limit_ : ceiling;
}

std::uint64_t Account::total(unsigned dev) const {
  if (!validDevice(dev)) return 0;
  const std::uint64_t admitted = loadAcquire(pages_.report().devices[dev].total.low);
  const std::uint64_t spare = sumSpare(pages_, dev);
  const std::uint64_t used = admitted > spare ? admitted - spare : 0;
  const std::uint64_t outside = outsideBytes(pages_.control(), dev);
  return used > outside ? used - outside : 0;
}

std::uint64_t Account::free(unsigned dev) const {
  if (!validDevice(dev)) return 0;
  const Limits limits = limitsOf(dev);
  const std::uint64_t limit = limits.admissible() - limits.outside;
  const std::uint64_t used = total(dev);
  return limit > used ? limit - used : 0;
}

std::uint64_t Account::processUsed(unsigned slot, unsigned dev) const {
  if (!validDevice(dev) || slot >= pages_.slotsReady()) return 0;
  std::uint64_t sum = 0;
  for (const Lane& lane : pages_.report().slots[slot].lanes) {
    sum = saturatingAdd(sum, loadAcquire(lane.used[dev]));
  }
  return sum;
}

Limits Account::limitsOf(unsigned dev) const {
  const ControlPage& control = pages_.control();
  return {&control.devices[dev], own_limit_, outsideBytes(control, dev)};
}

unsigned Account::slot() const {
  const std::uint64_t claim = attached() ? loadAcquire(private_->claimed) : 0;
  return claim != 0 ? claimSlot(claim) : kMaxSlots;
}

std::uint64_t Account::slotOwner() const {
  const std::uint64_t claim = attached() ? loadAcquire(private_->claimed) : 0;
  if (claim == 0) return 0;
  const std::uint64_t state = loadRelaxed(pages_.report().slots[claimSlot(claim)].state.low);
  const std::uint64_t generation = claimGeneration(claim);
  return state == packState(generation, Phase::kLive) ? generation + 1 : 0;
}

bool Account::readLive(unsigned slot, LiveProcess* out) const {
  const Slot& from = pages_.report().slots[slot];
  const Pair state = loadHalves(from.state);
  if (statePhase(state.low) != Phase::kLive) return false;
  const bool adopted = loadAcquire(from.adopted_generation) == stateGeneration(state.low) + 1;
  *out = {slot, unpackOwner(state.high), adopted ? loadRelaxed(from.host_pid) : 0,
          loadRelaxed(from.context_bytes)};
  // The owner belongs to the phase only if the slot was not reused in between.
  return loadAcquire(from.state.low) == state.low;
}

void Account::setContextBytes(std::uint64_t bytes) {
  const unsigned mine = slot();
  if (mine < kMaxSlots) storeRelaxed(pages_.report().slots[mine].context_bytes, bytes);
}

void Account::fault(FaultCode code, std::uint32_t site, std::uint64_t detail,
                    std::uint64_t arg) const {
  const auto kind = static_cast<std::uint32_t>(code);
  if (!attached() || kind >= kFaultKinds) return;
  ReportHeader& header = pages_.report().header;
  bumpShared(header.fault_counts[kind], 1);
  const std::uint64_t number = __atomic_fetch_add(&header.fault_head, 1, __ATOMIC_RELAXED);
  FaultEntry& entry = header.faults[number % kFaultEntries];
  __atomic_exchange_n(&entry.seq, 0, __ATOMIC_ACQ_REL);  // empty before the fields change
  storeRelaxed(entry.code, kind);
  storeRelaxed(entry.site, site);
  storeRelaxed(entry.detail, detail);
  storeRelaxed(entry.arg, arg);
  storeRelease(entry.seq, number + 1);
}

}  // namespace divvy::ledger
