// Every range of addresses that means something to the simulated device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

#include "cuda/memory/memory.h"
#include "cuda/memory/memory_window.h"

namespace divvy::simgpu {

class MemPool;
struct Physical;      // vmm.h
struct ManagedPages;  // managed.h

enum class RegionKind : int {
  kPlain,     // cuMemAlloc, cuMemAllocPitch, module globals
  kManaged,   // cuMemAllocManaged: the host can use the address, too
  kPool,      // stream-ordered
  kGraph,     // of a graph's allocation node
  kMapped,    // cuMemMap
  kImported,  // cuIpcOpenMemHandle, cuMemPoolImportPointer, external memory
  kArray,     // behind a CUDA array: has bytes, but programs do not learn the address
  kHost,      // pinned host memory, at its host address
};

// Owned by the table; changed only under its mutex (exclusive), but for the contents.
struct Region {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;      // accessible bytes
  std::size_t requested = 0;  // requested bytes
  std::size_t charged = 0;    // on the card, privately
  RegionKind kind = RegionKind::kPlain;
  Charge charge = Charge::kPlain;
  Device* device = nullptr;  // where the bytes are; for host memory the device of its context
  Context* owner = nullptr;  // freed with it; nullptr for memory of no context
  std::uint64_t buffer_id = 0;
  PoisonBits poison;              // absent: the contents are always valid
  std::uint64_t poison_base = 0;  // file chunk offset of begin, in the numbering of `poison`
  std::uint64_t block = 0;        // shared block of the card, once exported
  unsigned flags = 0;             // of host and managed memory
  bool closed = false;            // freed in stream order, or graph memory between launches
  bool sync_memops = false;
  std::uint64_t free_token = 0;  // of the free that is queued in a stream; 0: none
  // By device ordinal; meaningful for kMapped, kPool and kImported, where access is per device.
  std::array<std::uint8_t, kMaxCards> access{};
  MemPool* pool = nullptr;
  std::shared_ptr<Physical> physical;
  std::uint64_t physical_offset = 0;
  std::shared_ptr<ManagedPages> managed;
  std::shared_ptr<void> import;  // keeps what an import needs
};

class MemoryTable {
 public:
  static MemoryTable& get();

  mutable std::shared_mutex mutex;

  // All under `mutex`.
  Region* find(CUdeviceptr address);       // the one that contains it
  Region* findExact(CUdeviceptr address);  // the one that begins there
  Region& add(Region region);              // sets buffer_id if it is 0
  void remove(CUdeviceptr begin);          // moves the epoch
  std::map<CUdeviceptr, Region>& all() { return regions_; }

  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  void moveEpoch() { epoch_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  std::map<CUdeviceptr, Region> regions_;
  std::atomic<std::uint64_t> epoch_{1};
  std::uint64_t next_buffer_id_ = 1;
};

// Addresses of the small or large part (or of 32 bits) with poison laid, but no charge.
// 0: no addresses left.
CUdeviceptr reserveAddresses(std::uint64_t bytes, bool narrow);
void releaseAddresses(CUdeviceptr address, std::uint64_t bytes);

// Charges the card (kManaged: later, page by page), takes addresses, lays poison, adds the region.
struct AllocationRequest {
  Device* device;
  Context* owner;
  Charge charge;
  RegionKind kind;
  std::size_t requested;
  std::size_t bytes;  // rounded
  bool narrow = false;
  bool charged = true;
};
CUresult allocateRegion(const AllocationRequest& request, CUdeviceptr* out);
// Undoes it. `address` is the beginning of a region of kinds kPlain, kManaged, kArray.
void freeRegion(CUdeviceptr address);

// Everything that dies with a context.
void freeOwnedBy(Context& context);

// 0 and overflow are 0.
constexpr std::size_t roundTo(std::size_t bytes, std::size_t unit) {
  return bytes > SIZE_MAX - unit ? 0 : (bytes + unit - 1) / unit * unit;
}

}  // namespace divvy::simgpu
