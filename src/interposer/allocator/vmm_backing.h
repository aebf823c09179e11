// The device memory behind a chunk's address: how it is made, mapped, made accessible, and undone.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/layout.h"
#include "loader/driver_table.h"
#include "paging/chunk.h"

namespace divvy::interposer {

// How chunks are made on one device. Immutable.
struct BackingTerms {
  static constexpr unsigned kMaxAccess = 64;

  bool usable;  // false: the driver or the device cannot do it, memory stays native
  CUdevice ordinal;
  std::uint64_t granule;      // bytes: chunks are multiples of it
  std::uint64_t chunk_bytes;  // of large blocks
  CUmemAllocationProp prop;
  bool maps_host;  // memory of the host can stand in for the device's
  CUmemAllocationProp host_prop;
  unsigned access_count;
  CUmemAccessDesc access[kMaxAccess];
};

// What an arena has at most.
inline std::uint64_t mostArena(const BackingTerms& terms) {
  constexpr std::uint64_t kMax = std::uint64_t{32} << 20;
  return terms.chunk_bytes < kMax ? terms.chunk_bytes : kMax;
}

// One per process, in static storage; any thread. Calls the driver, which needs no current context
// for these calls.
class Backing {
 public:
  // For a device of the tenant, by the driver's number and the ledger's. Asks the driver on first
  // use; nullptr where there is nothing that could be asked or kept.
  const BackingTerms* terms(CUdevice ordinal, unsigned device) {
    const BackingTerms* known = terms_[device].load(std::memory_order_acquire);
    return known != nullptr ? known : learn(ordinal, device);
  }

  // For a chunk that the caller owns (kSwappingIn) and has taken room for: a new handle, mapped,
  // accessible by the device and by all of the tenant's; and where else the application sees it.
  // The contents are whatever the driver gives. On failure nothing is left of it.
  CUresult map(Chunk& chunk);
  // The same with memory of the host. CUDA_ERROR_NOT_SUPPORTED: it never will.
  CUresult mapHost(Chunk& chunk);

  // The reverse, for a chunk that the caller owns (kSwappingOut, kFreeing); on success its room can
  // be given back. If the driver did not even unmap it, contents and access are as they were.
  CUresult unmap(Chunk& chunk);

  // For a chunk that the caller owns and that has device memory: maps it where the application sees
  // it now. `anew`: for the devices that may by now.
  static CUresult settle(Chunk& chunk, bool anew);

  // Of a child, in which no table of devices has been made yet.
  void forgetAfterFork();

 private:
  const BackingTerms* learn(CUdevice ordinal, unsigned device);
  const BackingTerms& termsOf(const Chunk& chunk) const;
  void showHost(bool maps);

  std::atomic<const BackingTerms*> terms_[ledger::kMaxDevices] = {};
  std::atomic<bool> maps_host_{true};  // no device is known that cannot
};

}  // namespace divvy::interposer
