// Stream-ordered memory that can be swapped: what was freed in the order of a stream, until the
// stream came to that, and what pools keep of it.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"
#include "accounting/mempool_tracker.h"
#include "allocator/swappable_allocator.h"
#include "paging/chunk_table.h"
#include "support/slab.h"

namespace divvy::interposer {

// Where a call stands.
struct StreamRef {
  CUcontext context;
  std::uint64_t id;  // that no other stream ever has; 0: it is not known
};

// One per process, in static storage; any thread. No lock. Blocks are chunks' and arenas' as all
// others are (a pool's belong to no context). One that was freed is in a list, with an event behind
// the free: until that came it is for later allocations of the same stream alone, then for
// everybody's. A pool gives back what it keeps unused above its threshold where the driver does: at
// synchronisations, when trimmed, when memory is refused.
class AsyncAllocator {
 public:
  // Something was freed in the order of a stream and is still here.
  bool any() const { return listed_.load(std::memory_order_acquire) != 0; }

  // A block of the pool, its address in *out. kNative: the driver's own call has the answer.
  HookOutcome allocate(Pool& pool, std::uint64_t bytes, const StreamRef& place, CUdeviceptr* out,
                       CUresult* result);

  // Frees the block that begins at `address` once the stream comes to it; record(event) is to
  // record the event there. Where there can be no event, all work is waited for. kNative: there is
  // no such block.
  template <typename Record>
  HookOutcome release(CUdeviceptr address, const StreamRef& place, Record record,
                      CUresult* result) {
    if (!isBlock(address)) return HookOutcome::kNative;
    DeferredFree* freed = begin(place);
    // An event may be of a context that ended since; a new one is not.
    bool recorded = false;
    for (int attempt = 0; freed != nullptr && !recorded && attempt < 2; ++attempt) {
      recorded = haveEvent(*freed) && record(freed->event) == CUDA_SUCCESS;
      if (!recorded) freed->event = nullptr;
    }
    return finish(address, freed, recorded, result);
  }

  // After a wait for work: what came free goes to its pools, what these have too much to the card.
  void afterWait();
  // Gives back what the pool keeps unused as long as it has more than `keep`; what it has then.
  std::uint64_t trim(Pool& pool, std::uint64_t keep);
  // For who was refused memory. Gives back all that is unused. True: some is about to be.
  bool reclaim();

  // The device's memory of a context is gone; with `all`, all of it.
  void contextEnded(unsigned device, CUcontext context, bool all);

  void forgetAfterFork();

 private:
  enum class Stage : std::uint32_t {
    kNone = 0,     // being made or unmade
    kWaiting = 1,  // the stream has not come to it, as far as is known
    kIdle = 2,     // nobody uses it
    kBusy = 3,     // in somebody's hands
  };

  // Records of a Slab: valid when zero. Plain members are of whoever has it in his hands, but those
  // up to `bytes` are for others to look at.
  struct DeferredFree {
    std::atomic<std::uint32_t> taken;
    std::atomic<Stage> stage;
    std::atomic<std::uint64_t> stream;
    std::atomic<std::uint32_t> pool;   // its index, and 1; 0: it is of no pool
    std::atomic<std::uint64_t> bytes;  // that it has room for
    std::atomic<CUcontext> context;    // of the stream
    std::atomic<bool> is_piece;        // of an arena
    std::uint32_t number;              // of this record
    std::uint32_t block;               // that it is, or a piece of; of the ChunkTable
    std::uint64_t address;
    // Stays with the record.
    CUevent event;
    CUcontext event_context;
    std::uint32_t ended;  // how many contexts had, when it was made

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
