#include "ledger/account.h"

#include <string.h>
#include <sys/mman.h>

#include "account/lane.h"
#include "account/lane_cache.h"
#include "account/lane_lock.h"
#include "account/slot_claim.h"
#include "process/bounded_wait.h"
#include "process/proc_self.h"
#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

constexpr std::size_t kPrivateBytes = 4096;
constexpr std::int64_t kMoverPatienceNs = 1'000'000;  // moving bytes takes some 100 ns

LaneSite siteOf(const TenantPages& pages, std::uint64_t claim, unsigned lane) {
  return {&pages.report(), &pages.control().header, claimSlot(claim), lane};
}

}  // namespace

bool Account::attach(const TenantPages& pages) {
  if (attached()) return true;
  const ErrnoKeeper keeper;
  void* memory =
      mmap(nullptr, kPrivateBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Refused before Linux 4.14; startOverInChild serves those.
  madvise(memory, kPrivateBytes, kMadvWipeOnFork);
  pages_ = pages;
  private_ = static_cast<ProcessState*>(memory);
  return true;
}

void Account::startOverInChild() {
  if (attached()) memset(private_, 0, sizeof *private_);
}

void Account::lowerCeiling(std::uint64_t bytes) {
  if (own_limit_ == 0 || bytes < own_limit_) own_limit_ = bytes;
}

Admission Account::claim() {
  std::uint64_t claim = 0;
  return attached() ? obtainClaim(&claim) : Admission::kBroken;
}

// The slot's state is compared at each operation. If the agent wrongly freed the slot, the process
// stops here instead of writing into another process's slot. Its bytes are refunded already; a new
// slot would refund them twice.
Admission Account::obtainClaim(std::uint64_t* claim) {
  *claim = loadAcquire(private_->claimed);
  if (*claim == 0) [[unlikely]] {
    return claimAfresh(claim);
  }
  const std::uint64_t state = loadRelaxed(pages_.report().slots[claimSlot(*claim)].state.low);
  if (state != packState(claimGeneration(*claim), Phase::kLive)) [[unlikely]] {
    fault(FaultCode::kSlotLost, 0, claimSlot(*claim), 0);
    return Admission::kBroken;
  }
  return Admission::kGranted;
}

// Each concurrent thread takes a slot; one installs its slot and the others return theirs. No
// thread waits, so a signal handler may run this.
Admission Account::claimAfresh(std::uint64_t* claim) {
  const ErrnoKeeper keeper;
  const Owner self = readSelf();
  const std::uint64_t exec_id = readExecId();
  reapOwnPast(pages_, self, exec_id);
  std::uint64_t mine = claimSlotFor(pages_, self, exec_id);
  if (mine == 0) mine = awaitSlotFor(pages_, self, exec_id);
  if (mine == 0) {
    fault(FaultCode::kSlotsExhausted, 0, pages_.slotsReady(), 0);
    return Admission::kNoSlot;
  }
  std::uint64_t installed = 0;
  if (compareExchange(private_->claimed, installed, mine)) {
    announce(pages_, claimSlot(mine), claimGeneration(mine), self.pid);
    *claim = mine;
  } else {
    abandonSlot(pages_, mine, self);
    *claim = installed;
  }
  return Admission::kGranted;
}

Admission Account::reserve(unsigned dev, std::uint64_t bytes) {
  if (!validDevice(dev)) [[unlikely]] {
    fault(FaultCode::kBadDevice, 0, dev, bytes);
    return Admission::kBroken;
  }
  std::uint64_t claim;
  const Admission slot = obtainClaim(&claim);
  if (slot != Admission::kGranted || bytes == 0) return slot;
  Admission result = reserveOnALane(dev, bytes, claim);
  if (loadRelaxed(private_->any_deferred) != 0) [[unlikely]] {
    finishDeferred(claim);
  }
  if (result == Admission::kOverLimit) [[unlikely]] {
    result = reserveInNeed(dev, bytes, claim);
  }
  return result;
}

Admission Account::reserveOnALane(unsigned dev, std::uint64_t bytes, std::uint64_t claim) {
  const int held = holdAnyLane(*private_);
  if (held < 0) {
    fault(FaultCode::kLaneBusy, 0, dev, bytes);
    return Admission::kBroken;
  }
  const auto lane = static_cast<unsigned>(held);
  const LaneSite site = siteOf(pages_, claim, lane);
  const Limits limits = limitsOf(dev);
  LaneStep step = LaneStep::kRefused;
  if (loadRelaxed(site.laneRef().spare[dev].low) >= bytes) {
    step = spendOnLane(site, dev, bytes, limits);
  }
  if (step == LaneStep::kRefused) step = admitOnLane(site, dev, bytes, limits);
  releaseLane(*private_, lane);
  if (step == LaneStep::kDone) [[likely]] {
    return Admission::kGranted;
  }
  if (step == LaneStep::kRefused) return Admission::kOverLimit;
  fault(step == LaneStep::kRetired ? FaultCode::kLaneRetired : FaultCode::kContended, 0, dev,
        bytes);
  return Admission::kBroken;
}

// The total includes spare bytes. So a refusal is final only if no lane had any and the total did
// not change meanwhile. Bytes that are being moved are waited for, with a bound, because the mover
// may be stopped.
Admission Account::reserveInNeed(unsigned dev, std::uint64_t bytes, std::uint64_t claim) {
  const ErrnoKeeper keeper;
  const std::uint64_t& tag = pages_.report().devices[dev].total.high;
  for (BoundedWait patience(kMoverPatienceNs);;) {
    const std::uint64_t before = loadAcquire(tag);
    const Admission result = reserveOnALane(dev, bytes, claim);
    if (result != Admission::kOverLimit) return result;
    const int lane = holdAnyLane(*private_);
    if (lane < 0) break;
    const LaneSite site = siteOf(pages_, claim, static_cast<unsigned>(lane));
    const Reclaimed reclaimed = reclaimSpare(site, pages_, dev);
    releaseLane(*private_, static_cast<unsigned>(lane));
    if (reclaimed == Reclaimed::kNone && loadAcquire(tag) == before) break;
    if (!patience.wait()) break;
  }
  return Admission::kOverLimit;
}

void Account::release(unsigned dev, std::uint64_t bytes) {
  if (!validDevice(dev)) [[unlikely]] {
    fault(FaultCode::kBadDevice, 0, dev, bytes);
    return;
  }
  if (bytes == 0) return;
  if (loadAcquire(private_->claimed) == 0) [[unlikely]] {
    fault(FaultCode::kUnclaimedRelease, 0, dev, bytes);
    return;
  }
  std::uint64_t claim;
  if (obtainClaim(&claim) != Admission::kGranted) return;
  if (!releaseOnALane(dev, bytes, claim)) [[unlikely]] {
    releaseAcrossLanes(dev, bytes, claim);
  }
  if (loadRelaxed(private_->any_deferred) != 0) [[unlikely]] {
    finishDeferred(claim);
  }
}

// A lane never goes below zero. Returns false if this lane has less in use, because the reserving
// thread used another lane.
bool Account::releaseOnALane(unsigned dev, std::uint64_t bytes, std::uint64_t claim) {
  const int held = holdAnyLane(*private_);
  if (held < 0) return false;
  const auto lane = static_cast<unsigned>(held);
  const LaneSite site = siteOf(pages_, claim, lane);
  LaneStep step = LaneStep::kRefused;
  std::uint64_t missing = 0;
  if (loadRelaxed(site.laneRef().used[dev]) >= bytes) {
    const Limits limits = limitsOf(dev);
    if (worthKeeping(site, dev, bytes, limits)) {
      markSpare(site);
      step = stockOnLane(site, dev, bytes);
    } else {
      step = refundOnLane(site, dev, bytes, kLastTenantSeq, &missing);
    }
  }
  releaseLane(*private_, lane);
  if (missing != 0) fault(FaultCode::kTotalUnderflow, 0, dev, missing);
  return step == LaneStep::kDone;
}

// While all lanes are held, their sum is exactly what this process has. A surplus was never
// reserved.
void Account::releaseAcrossLanes(unsigned dev, std::uint64_t bytes, std::uint64_t claim) {
  if (!holdAllLanes(*private_)) {
    defer(dev, bytes);
    return;
  }
  std::uint64_t left = bytes;
  std::uint64_t missing = 0;
  bool stuck = false;
  for (unsigned lane = 0; lane < kLanes && left != 0; ++lane) {
    const LaneSite site = siteOf(pages_, claim, lane);
    const std::uint64_t held = loadRelaxed(site.laneRef().used[dev]);
    const std::uint64_t part = held < left ? held : left;
    if (part == 0) continue;
    const LaneStep step = refundOnLane(site, dev, part, kLastReleaseSeq, &missing);
    if (step == LaneStep::kDone) {
      left -= part;
    } else {
      stuck = true;
    }
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) releaseLane(*private_, lane);
  if (missing != 0) fault(FaultCode::kTotalUnderflow, 0, dev, missing);
  if (left == 0) return;
  // Bytes that could not be removed stay counted until the process ends, which is the safe
  // direction.
  fault(stuck ? FaultCode::kContended : FaultCode::kOverRelease, 0, dev, left);
}

void Account::defer(unsigned dev, std::uint64_t bytes) {
  bumpShared(private_->deferred[dev], bytes);
  storeRelease(private_->any_deferred, std::uint64_t{1});
}

void Account::finishDeferred(std::uint64_t claim) {
  if (__atomic_exchange_n(&private_->any_deferred, 0, __ATOMIC_ACQ_REL) == 0) return;
  for (unsigned dev = 0; dev < pages_.deviceCount(); ++dev) {
    const std::uint64_t bytes = __atomic_exchange_n(&private_->deferred[dev], 0, __ATOMIC_ACQ_REL);
    if (bytes != 0) releaseAcrossLanes(dev, bytes, claim);
  }
}

}  // namespace divvy::ledger
