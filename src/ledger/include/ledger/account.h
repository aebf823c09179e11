// A process' account at its tenant: admission of device memory. Freestanding.
#pragma once

#include <cstdint>

#include "ledger/fault.h"
#include "ledger/packed_words.h"
#include "ledger/pages.h"

namespace divvy::ledger {

enum class Admission : std::uint8_t {
  kGranted,
  kOverLimit,  // the share is used up: CUDA_ERROR_OUT_OF_MEMORY
  kNoSlot,     // no slot left for this process: deny, a fault was counted
  kBroken,     // the ledger cannot be used (bad index, slot lost, no lane): deny, counted
};

struct LiveProcess {
  unsigned slot;
  Owner owner;
  std::uint32_t host_pid;  // 0: the agent has not told yet
  std::uint64_t context_bytes;
};

struct Limits;
struct ProcessState;

// One per process, in static storage; zero-initialised is a valid detached account. All functions
// but attach may be called from any thread at once and from signal handlers; none allocates, takes
// a lock that another process could hold, or has one wait that is longer than 100 ms of its own
// running time (for threads of this process that hold all four lanes, or for a slot where none is
// free). In a forked child the account starts over by itself: the child claims a fresh slot with
// its first reserve and owns nothing before.
class Account {
 public:
  // Binds to open pages, which must stay open. False when the process-local page cannot be mapped.
  // Calling it again is a no-op. Not concurrently with anything else.
  bool attach(const TenantPages& pages);
  bool attached() const { return private_ != nullptr; }

  // A bound of this process' own, for every device; only ever lowers what it may reserve.
  void lowerCeiling(std::uint64_t bytes);

  // Admits `bytes` on device `dev` before the driver is asked. kGranted: they are counted and must
  // be given back by release when the driver refuses or frees them. The total of the tenant never
  // passes the ceiling at any instant. The first call claims a slot and tells the agent; it waits
  // for the agent only where no slot is free.
  Admission reserve(unsigned dev, std::uint64_t bytes);

  // Gives back what reserve granted, in any portions, from any thread. More than is reserved: the
  // surplus is not given back and a fault is counted.
  void release(unsigned dev, std::uint64_t bytes);

  // Claims a slot now (registration at context creation). kGranted when this process has one.
  Admission claim();

  // For a fork-like child on kernels without MADV_WIPEONFORK (before 4.14): call from the child's
  // pthread_atfork handler. Harmless elsewhere.
  void startOverInChild();

  // The share as told to the application: the ceiling, lowered by lowerCeiling.
  std::uint64_t ceiling(unsigned dev) const;
  // What all processes of the tenant have reserved and not released, without the one context that
  // is outside the share. Exact while no process reserves or releases; otherwise of about this
  // moment.
  std::uint64_t total(unsigned dev) const;
  // What reserve could still grant: ceiling less headroom less total, not below 0. Where a context
  // is outside the share and there is none yet, its bytes are left out.
  std::uint64_t free(unsigned dev) const;

  // Bytes of one process, by its slot. 0 for a slot or device out of range.
  std::uint64_t processUsed(unsigned slot, unsigned dev) const;
  // This process' slot, or kMaxSlots while it has none.
  unsigned slot() const;
  // 1 + the generation of this process' slot, as WorkLine::owner has it; 0 while it has none or the
  // agent took the slot away.
  std::uint64_t slotOwner() const;
  // Calls visit(const LiveProcess&) for every claimed slot, in slot order. A process that died
  // while the agent is away is still listed.
  template <typename Visit>
  void forEachLiveSlot(Visit visit) const {
    const unsigned ready = attached() ? pages_.slotsReady() : 0;
    for (unsigned i = 0; i < ready; ++i) {
      LiveProcess process;
      if (readLive(i, &process)) visit(static_cast<const LiveProcess&>(process));
    }
  }

  // What the process' contexts cost, for display; not part of admission.
  void setContextBytes(std::uint64_t bytes);

  // Counts a fault and puts it into the ring. `site` is the caller's (an entry id).
  void fault(FaultCode code, std::uint32_t site, std::uint64_t detail, std::uint64_t arg) const;

  const TenantPages& pages() const { return pages_; }

 private:
  bool validDevice(unsigned dev) const { return attached() && dev < pages_.deviceCount(); }
  bool readLive(unsigned slot, LiveProcess* out) const;
  Limits limitsOf(unsigned dev) const;
  Admission obtainClaim(std::uint64_t* claim);
  Admission claimAfresh(std::uint64_t* claim);
  Admission reserveOnALane(unsigned dev, std::uint64_t bytes, std::uint64_t claim);
  Admission reserveInNeed(unsigned dev, std::uint64_t bytes, std::uint64_t claim);
  bool releaseOnALane(unsigned dev, std::uint64_t bytes, std::uint64_t claim);
  void releaseAcrossLanes(unsigned dev, std::uint64_t bytes, std::uint64_t claim);
  void defer(unsigned dev, std::uint64_t bytes);
  void settleDeferred(std::uint64_t claim);

  TenantPages pages_;
  ProcessState* private_ = nullptr;  // one page of this process alone, zeroed in forked children
  std::uint64_t own_limit_ = 0;      // 0: none
};

}  // namespace divvy::ledger
