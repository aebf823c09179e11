// Stream-ordered memory that can be swapped: blocks freed in the order of a stream, until the
// stream reaches the free, and blocks that pools keep.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"
#include "accounting/mempool_tracker.h"
#include "allocator/swappable_allocator.h"
#include "paging/chunk_table.h"
#include "support/slab.h"

namespace divvy::interposer {

// The stream of a call.
struct StreamRef {
  CUcontext context;
  std::uint64_t id;  // unique for all time; 0: unknown
};

// One per process, in static storage. Any thread; no lock. Blocks consist of chunks or of pieces of
// arenas, as all others do; a pool's blocks belong to no context. A freed block is in a list, with
// an event behind the free. Before that event came, only later allocations of the same stream may
// use it; after that, any allocation. A pool gives back unused memory above its threshold
// where the driver does: at synchronisations, when trimmed, and when memory is refused.
class AsyncAllocator {
 public:
  // Returns whether a block that was freed in the order of a stream is still listed.
  bool any() const { return listed_.load(std::memory_order_acquire) != 0; }

  // Allocates a block of the pool; its address is in *out. Returns kNative if the driver's own call
  // is to answer.
  HookOutcome allocate(Pool& pool, std::uint64_t bytes, const StreamRef& place, CUdeviceptr* out,
                       CUresult* result);

  // Frees the block that begins at `address` once the stream reaches the free. record(event)
  // records the event there. If no event can be recorded, waits for all work. Returns kNative if
  // there is no such block.
  template <typename Record>
  HookOutcome release(CUdeviceptr address, const StreamRef& place, Record record,
                      CUresult* result) {
    if (!isBlock(address)) return HookOutcome::kNative;
    DeferredFree* freed = begin(place);
    // An event may belong to a context that has ended since; a new event does not.
    bool recorded = false;
    for (int attempt = 0; freed != nullptr && !recorded && attempt < 2; ++attempt) {
      recorded = haveEvent(*freed) && record(freed->event) == CUDA_SUCCESS;
      if (!recorded) freed->event = nullptr;
    }
    return finish(address, freed, recorded, result);
  }

  // To be called after a wait for work. Gives blocks that became free to their pools, and the
  // pools' memory above their threshold to the device.
  void afterWait();
  // Gives back the pool's unused blocks while it holds more than `keep` bytes. Returns the bytes
  // that it holds then.
  std::uint64_t trim(Pool& pool, std::uint64_t keep);
  // For a caller that was refused memory. Gives back all unused blocks. Returns true if more blocks
  // are about to become unused.
  bool reclaim();

  // Notes that the device's memory of a context was freed; with `all`, all of the device's memory.
  void contextEnded(unsigned device, CUcontext context, bool all);

  void forgetAfterFork();

 private:
  enum class Stage : std::uint32_t {
    kNone = 0,     // being made or removed
    kWaiting = 1,  // the stream has not reached it, as far as known
    kIdle = 2,     // not in use
    kBusy = 3,     // owned by a thread
  };

  // Record of a Slab; valid when zero. The thread that owns the record uses the plain members.
  // Other threads may read the members up to `bytes`.
  struct DeferredFree {
    std::atomic<std::uint32_t> taken;
    std::atomic<Stage> stage;
    std::atomic<std::uint64_t> stream;
    std::atomic<std::uint32_t> pool;   // index of its pool plus 1; 0: no pool
    std::atomic<std::uint64_t> bytes;  // bytes that it has room for
    std::atomic<CUcontext> context;    // of the stream
    std::atomic<bool> is_piece;        // it is a piece of an arena
    std::uint32_t number;              // of this record
    std::uint32_t block;               // its block, or the piece's block, in the ChunkTable
    std::uint64_t address;
    // Kept with the record.
    CUevent event;
    CUcontext event_context;
    std::uint32_t ended;  // number of ended contexts when the event was made

    bool claim(Stage from) {
      return stage.compare_exchange_strong(from, Stage::kBusy, std::memory_order_acq_rel);
    }
  };

  static bool isBlock(CUdeviceptr address);
  DeferredFree* begin(const StreamRef& place);
  static bool haveEvent(DeferredFree& freed);
  static bool takeBlock(CUdeviceptr address, DeferredFree& freed);
  HookOutcome finish(CUdeviceptr address, DeferredFree* freed, bool recorded, CUresult* result);
  void settle();
  void settle(DeferredFree& freed);
  void drop(DeferredFree& freed);
  void unlist(DeferredFree& freed);
  template <typename Wanted>
  DeferredFree* claimOne(Stage stage, Wanted wanted);
  CUdeviceptr again(Pool& pool, std::uint64_t bytes, const StreamRef& place, bool piece);
  CUdeviceptr revive(DeferredFree& freed, Pool& pool, std::uint64_t bytes);

  Slab<DeferredFree> freed_;
  std::atomic<std::uint32_t> listed_{0};
};

}  // namespace divvy::interposer
