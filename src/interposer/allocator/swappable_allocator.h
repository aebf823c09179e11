// Allocations that can be swapped: made of chunks at addresses that do not change.
#pragma once

#include <atomic>

#include "abi/cuda_ids.h"
#include "abi/cuda_types.h"
#include "allocator/arena.h"
#include "paging/chunk_table.h"

namespace divvy::interposer {

struct Pool;
struct ThreadLine;

// The result of a hook for a call that may concern swappable memory.
enum class HookOutcome : std::uint8_t {
  kNative,  // no swappable memory: the driver is to be called
  kDone,    // the result is the application's
};

// One per process, in static storage. Any thread, inside a hook (DriverCallScope). No lock. Calls
// the driver only for chunks in a busy state, or for those that no lookup finds yet.
class Swappable {
 public:
  // Allocates a block of `bytes` in the current context; its address is in *out. Returns kNative if
  // the block is too small, or if device, driver or call do not suit. Then the driver's own call
  // answers.
  HookOutcome allocate(unsigned device, std::uint64_t bytes, abi::Cu site, CUdeviceptr* out,
                       CUresult* result);

  // Frees the block that begins at `address`, as cuMemFree does. Returns kNative if there is none.
  HookOutcome release(CUdeviceptr address, CUresult* result);

  // Creates a block that the application maps itself, which never ends with a context. Returns
  // kNone on failure, with the answer in *result. CUDA_SUCCESS in *result means that native memory
  // is to be used.
  std::uint32_t create(unsigned device, CUdevice ordinal, std::uint64_t bytes,
                       const HandleAttributes& made_as, CUresult* result);
  // Creates a block of one chunk for an arena, not published. Returns kNone if there is none.
  // `spare`: only if no wait is necessary and no memory has to be given back for it.
  std::uint32_t createArena(const ArenaOwner& owner, std::uint64_t bytes, std::uint32_t arena,
                            bool spare);
  // Creates a stream-ordered block without a context, not published. Fails as create() does.
  std::uint32_t createPooled(const Pool& pool, std::uint64_t bytes, CUresult* result);
  // Returns an id for a block that no other block has, including those of the driver.
  std::uint64_t nextId();

  // Ends a block that no lookup finds any more. Frees every chunk now, except those that another
  // thread owns; their owners free them.
  void abandon(std::uint32_t block);

  // Maps the chunks of the block's first `bytes` as its views are now, where they have memory.
  // `anew`: the devices with access have changed. Returns the driver's error, or
  // CUDA_ERROR_NOT_READY if another thread has owned a chunk for very long; that thread will map
  // it.
  CUresult settle(std::uint32_t block, std::uint64_t bytes, bool anew);
  // Returns when all threads have released the chunks that they owned at the start of the call.
  // Returns false if that exceeds a bound.
  static bool awaitIdle(std::uint32_t block, std::uint64_t bytes);

  // Pins the chunks of a block from now on; returns when all are on the device. Returns
  // CUDA_SUCCESS, or the error that answers the call.
  CUresult pin(std::uint32_t block, PinReason reason);

  // Gives back the blocks that ended with a context of a device; with `all`, with the last context.
  void sweep(unsigned device, CUcontext context, bool all);

  // Brings a chunk that the caller owns out of its busy state, and ends it if its block was freed
  // meanwhile. The only way out of a busy state, except that to kFree.
  template <ChunkState kFrom, ChunkState kTo>
  void leave(std::uint32_t number) {
    static_assert(isBusy(kFrom) && !isBusy(kTo) && kTo != ChunkState::kFree);
    Chunk& chunk = chunkAt(number);
    const std::uint32_t generation = chunk.generation();
    chunk.advance<kFrom, kTo>();
    if (__builtin_expect(chunk.has(kDoomed | kViewStale), 0)) comeBack(number, generation);
  }

  // Ends blocks that were freed during captures and that no thread owns, once no capture is open.
  void collect() {
    if (__builtin_expect(deferred_.load(std::memory_order_acquire) != 0, 0)) collectDeferred();
  }

  // For a caller that was refused memory. Blocks that other threads freed may still be charged,
  // while a pager or a collecting thread owns them. Waits for these threads for a bounded time, but
  // not for a capture. Returns true if another attempt is worthwhile.
  bool awaitFrees();

  void forgetAfterFork();

 private:
  struct Request {
    unsigned device;  // ledger index
    CUdevice ordinal;
    CUcontext context;
    std::uint64_t bytes;
    std::uint64_t reserved;
    std::uint64_t chunk_bytes;
    HandleAttributes made_as;
    std::uint32_t arena;
    std::uint32_t pool;
    bool spare;
  };

  static Chunk& chunkAt(std::uint32_t number);
  static CUresult askAboutCaptures(unsigned device);
  CUresult allowedNow(unsigned device);
  std::uint32_t obtain(const Request& request, CUresult* result);
  std::uint32_t build(const Request& request, CUresult* result);
  void unbuild(std::uint32_t block);
  static CUresult make(Chunk& chunk, bool* missing);
  CUresult fill(std::uint32_t block, bool* missing);
  static CUresult endWork(const SwapBlock& block, bool capturing);
  void mark(Chunk& chunk);
  void doom(std::uint32_t block);
  bool freePiece(const SwapBlock& block, CUdeviceptr address, bool deferred);
  void comeBack(std::uint32_t chunk, std::uint32_t generation);
  template <ChunkState kState>
  bool settleIn(std::uint32_t chunk, bool anew, CUresult* result);
  CUresult settleOne(std::uint32_t chunk, bool anew);
  static CUresult callHome(const SwapBlock& block);
  static CUresult enterAtHome(const SwapBlock& block, ThreadLine* line);
  void undo(std::uint32_t chunk, std::uint32_t generation);
  void end(std::uint32_t block);
  void collectDeferred();
  template <typename Synchronise>
  bool freeDue(Synchronise synchronise);

  std::atomic<std::uint64_t> buffers_{0};   // ever made
  std::atomic<bool> collecting_{false};     // by one thread at a time
  std::atomic<std::uint32_t> deferred_{0};  // blocks that end after the captures
  std::atomic<std::uint32_t> freed_{0};     // doomed chunks that are still charged
};

}  // namespace divvy::interposer
