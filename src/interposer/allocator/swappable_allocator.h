// Allocations that can be swapped: made of chunks at addresses that stay.
#pragma once

#include <atomic>

#include "abi/cuda_ids.h"
#include "abi/cuda_types.h"
#include "allocator/arena.h"
#include "paging/chunk_table.h"

namespace divvy::interposer {

struct Pool;
struct ThreadLine;

// What became of a call that may concern swappable memory.
enum class HookOutcome : std::uint8_t {
  kNative,  // nothing to do with it: the driver is to be asked
  kDone,    // the result is the application's
};

// One per process, in static storage; any thread. All of it from inside a hook (Inside). No lock;
// no driver call but in a chunk's busy state or before it is found.
class Swappable {
 public:
  // A block of `bytes` in the current context, its address in *out. kNative: too small, or this
  // device, driver or call is none for it; then the driver's own call has the answer.
  HookOutcome allocate(unsigned device, std::uint64_t bytes, abi::Cu site, CUdeviceptr* out,
                       CUresult* result);

  // Frees the block that begins at `address`, as cuMemFree does. kNative: there is none.
  HookOutcome release(CUdeviceptr address, CUresult* result);

  // A block that the application is to map itself: `made_as` is that it never ends with a context.
  // kNone: there is *result; or, with CUDA_SUCCESS in there, it is none for this.
  std::uint32_t create(unsigned device, CUdevice ordinal, std::uint64_t bytes,
                       const HandleAttributes& made_as, CUresult* result);
  // A block of one chunk for an Arena, not published. kNone: there is none to be had; `spare`: not
  // without waiting, or anybody giving back anything.
  std::uint32_t createArena(const ArenaOwner& owner, std::uint64_t bytes, std::uint32_t arena,
                            bool spare);
  // A stream-ordered block of no context, not published; as create().
  std::uint32_t createPooled(const Pool& pool, std::uint64_t bytes, CUresult* result);
  // Of a block from here on: what nobody else has, not even the driver.
  std::uint64_t nextId();

  // Ends a block that nobody can find any more: frees every chunk now, but for those that somebody
  // has in his hands.
  void abandon(std::uint32_t block);

  // After the views of a block changed: the chunks of its first `bytes` are seen there from now on,
  // as far as they have memory. `anew`: who may see them has changed. What the driver refused; or
  // CUDA_ERROR_NOT_READY: somebody has had a chunk in his hands for very long, who will do it.
  CUresult settle(std::uint32_t block, std::uint64_t bytes, bool anew);
  // Returns when everybody has let go of the chunks that he had in his hands when this began.
  // False: after a bound.
  static bool awaitIdle(std::uint32_t block, std::uint64_t bytes);

  // Makes the chunks of a block stay where they are, from now on: returns when all are there.
  // CUDA_SUCCESS, or what a thread that must not wait is to answer.
  CUresult pin(std::uint32_t block, PinReason reason);

  // Gives back the blocks that ended with a context (or, with `all`, with the last one) of a
  // device.
  void sweep(unsigned device, CUcontext context, bool all);

  // Brings a chunk that the caller owns out of its busy state, and ends it if its block was freed
  // meanwhile: the only way out of one, but for that to kFree.
  template <ChunkState kFrom, ChunkState kTo>
  void leave(std::uint32_t number) {
    static_assert(isBusy(kFrom) && !isBusy(kTo) && kTo != ChunkState::kFree);
    Chunk& chunk = chunkAt(number);
    const std::uint32_t generation = chunk.generation();
    chunk.advance<kFrom, kTo>();
    if (__builtin_expect(chunk.has(kDoomed | kViewStale), 0)) comeBack(number, generation);
  }

  // Ends what was freed during captures and is in nobody's hands, once none is open.
  void collect() {
    if (__builtin_expect(deferred_.load(std::memory_order_acquire) != 0, 0)) collectDeferred();
  }

  // For who was refused memory: what others freed may have been charged still, in the hands of a
  // mover or of a thread that collects. Waits for them, but not for long, nor for a capture. True:
  // it is worth asking again.
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
  std::atomic<bool> collecting_{false};     // by one thread at a time; others leave it to him
  std::atomic<std::uint32_t> deferred_{0};  // blocks whose end waits for captures
  std::atomic<std::uint32_t> freed_{0};     // chunks that are doomed and charged
};

}  // namespace divvy::interposer
