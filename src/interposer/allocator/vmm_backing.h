// The device memory behind a chunk's address: creation, mapping, access and release.
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

  bool usable;  // false: driver or device cannot do it; memory stays native
  CUdevice ordinal;
  std::uint64_t granule;      // bytes; chunk sizes are multiples of it
  std::uint64_t chunk_bytes;  // of large blocks
  CUmemAllocationProp prop;
  bool maps_host;  // host memory can replace the device's
  CUmemAllocationProp host_prop;
  unsigned access_count;
  CUmemAccessDesc access[kMaxAccess];
};

// Returns the maximum size of an arena in bytes.
inline std::uint64_t mostArena(const BackingTerms& terms) {
  constexpr std::uint64_t kMax = std::uint64_t{32} << 20;
  return terms.chunk_bytes < kMax ? terms.chunk_bytes : kMax;
}

// One per process, in static storage. Any thread. Calls driver functions that need no current
// context.
class Backing {
 public:
  // Returns the terms of a tenant's device, by the driver's number and the ledger's. Asks the
  // driver on first use. Returns nullptr if it cannot be asked or the answer cannot be kept.
  const BackingTerms* terms(CUdevice ordinal, unsigned device) {
    const BackingTerms* known = terms_[device].load(std::memory_order_acquire);
    return known != nullptr ? known : learn(ordinal, device);
  }

  // Creates a handle, maps it, and opens it to the device and to all devices of the tenant. Also
  // maps it at the block's views. The caller owns the chunk (kSwappingIn) and has taken room for
  // it. The contents are undefined. After an error no handle and no mapping is left.
  CUresult map(Chunk& chunk);
  // As map(), with host memory. CUDA_ERROR_NOT_SUPPORTED means that it will never work.
  CUresult mapHost(Chunk& chunk);

  // Reverses map(). The caller owns the chunk (kSwappingOut, kFreeing); after success it can give
  // back the room. If the driver did not unmap the chunk, its contents and access are as before.
  CUresult unmap(Chunk& chunk);

  // Maps the chunk at its block's current views. The caller owns the chunk, which has device
  // memory. `anew`: sets the current access too.
  static CUresult settle(Chunk& chunk, bool anew);

  // To be called in the child of a fork, before it has made a table of devices.
  void forgetAfterFork();

 private:
  const BackingTerms* learn(CUdevice ordinal, unsigned device);
  const BackingTerms& termsOf(const Chunk& chunk) const;
  void showHost(bool maps);

  std::atomic<const BackingTerms*> terms_[ledger::kMaxDevices] = {};
  std::atomic<bool> maps_host_{true};  // false once a device is known that cannot
};

}  // namespace divvy::interposer
