// A process's account at its tenant: admission of device memory. Freestanding.
#pragma once

#include <cstdint>

#include "ledger/fault.h"
#include "ledger/packed_words.h"
#include "ledger/pages.h"

namespace divvy::ledger {

enum class Admission : std::uint8_t {
  kGranted,
  kOverLimit,  // the share is used up: CUDA_ERROR_OUT_OF_MEMORY
  kNoSlot,     // no free slot for this process: deny; a fault was counted
  kBroken,     // the ledger cannot be used (bad index, slot lost, no lane): deny; counted
};

struct LiveProcess {
  unsigned slot;
  Owner owner;
  std::uint32_t host_pid;  // 0: not reported by the agent yet
  std::uint64_t context_bytes;
};

struct Limits;
struct ProcessState;

// One per process, in static storage; all zeros is a valid detached account.
//
// Any thread and any signal handler may call the member functions at any time, except attach,
// lowerCeiling and startOverInChild. None allocates, and none takes a lock that another process
// could hold. No single wait takes more than 100 ms of the caller's running time. Waits are for
// threads of this process that hold all four lanes, and for a slot where none is free.
//
// In a forked child the account starts over by itself: the child owns nothing, and claims a fresh
// slot with its first reserve.
class Account {
 public:
  // Binds the account to open pages, which must stay open. Returns false if the process-local page
  // cannot be mapped. A second call has no effect. Must not run concurrently with any other call.
  bool attach(const TenantPages& pages);
  bool attached() const { return private_ != nullptr; }

  // Sets a limit of this process's own, for every device. It only ever lowers the amount that
  // reserve may grant.
  void lowerCeiling(std::uint64_t bytes);

  // Admits `bytes` on device `dev`; called before the driver allocates. After kGranted the bytes
  // are counted, and release must give them back when the driver refuses or frees them. The
  // tenant's total never exceeds the limit at any instant. The first call claims a slot and
  // registers with the agent; it waits for the agent only if no slot is free. A refusal is not
  // counted: see ledger/refusal.h.
  Admission reserve(unsigned dev, std::uint64_t bytes);

  // Gives back bytes that reserve granted, in any portions, from any thread. Bytes beyond the
  // reserved ones are not given back, and a fault is counted.
  void release(unsigned dev, std::uint64_t bytes);

  // Claims a slot now (registration at context creation). kGranted if this process has one.
  Admission claim();

  // For a forked child on kernels without MADV_WIPEONFORK (before 4.14): called from the child's
  // pthread_atfork handler. Harmless elsewhere.
  void startOverInChild();

  // The share that the application sees: the ceiling, as lowered by lowerCeiling.
  std::uint64_t ceiling(unsigned dev) const;
  // Bytes that all processes of the tenant have reserved and not released, without the one context
  // outside the share. Exact while no process reserves or releases; otherwise approximate.
  std::uint64_t total(unsigned dev) const;
  // Bytes that reserve could still grant: ceiling less headroom less total, at least 0. If one
  // context is outside the share and none exists yet, its bytes are left out.
  std::uint64_t free(unsigned dev) const;

  // Bytes of one process, by its slot. 0 for a slot or device out of range.
  std::uint64_t processUsed(unsigned slot, unsigned dev) const;
  // This process's slot, or kMaxSlots while it has none.
  unsigned slot() const;
  // 1 + the generation of this process's slot, as in WorkLine::owner. 0 while it has no slot, or
  // after the agent took the slot away.
  std::uint64_t slotOwner() const;
  // Calls visit(const LiveProcess&) for each claimed slot, in slot order. A process that died while
  // the agent is away is still listed.
  template <typename Visit>
  void forEachLiveSlot(Visit visit) const {
    const unsigned ready = attached() ? pages_.slotsReady() : 0;
    for (unsigned i = 0; i < ready; ++i) {
      LiveProcess process;
      if (readLive(i, &process)) visit(static_cast<const LiveProcess&>(process));
    }
  }

  // Cost of the process's contexts, for display; not part of admission.
  void setContextBytes(std::uint64_t bytes);

  // Counts a fault and adds it to the ring. `site` is an entry ID of the caller.
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
  void finishDeferred(std::uint64_t claim);

  TenantPages pages_;
  ProcessState* private_ = nullptr;  // one page private to this process, zeroed in forked children
  std::uint64_t own_limit_ = 0;      // 0: none
};

}  // namespace divvy::ledger
