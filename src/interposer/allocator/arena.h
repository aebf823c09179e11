// Blocks that are too small for chunks of their own: pieces of arenas. An arena is a block of one
// chunk.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"
#include "allocator/arena_units.h"
#include "support/slab.h"

namespace divvy::interposer {

struct SwapBlock;

// The owner of all pieces of an arena.
struct ArenaOwner {
  unsigned device;  // ledger index
  CUdevice ordinal;
  CUcontext context;   // frees it at its end; null: the device's last context
  std::uint32_t pool;  // index of its pool in the MempoolTracker plus 1, if stream-ordered
  bool operator==(const ArenaOwner&) const = default;
};

// One per process, in static storage. Any thread; no lock. The thread that leaves an arena without
// pieces gives it back. The account is charged with whole arenas.
class Arenas {
 public:
  // A piece in use, as the application sees it.
  struct Found {
    std::uint64_t address;
    ArenaUnits::ArenaUnit piece;
  };

  // Returns a piece of `bytes` with an id, from an existing arena or a new one; 0 if there is none.
  // A new arena is as large as all of the owner's arenas, at least `granule` and at most `most`. So
  // the charge is below twice the peak use, plus a granule.
  CUdeviceptr take(const ArenaOwner& owner, std::uint64_t bytes, std::uint64_t id,
                   std::uint64_t granule, std::uint64_t most);

  // Finds the piece at an address of a block that is an arena. Returns false if there is none.
  static bool find(const SwapBlock& block, std::uint64_t address, Found* out);
  static void setSyncMemops(const SwapBlock& block, std::uint64_t address, bool set);

  // Frees the piece that begins at `address`. If not `deferred`, at once: no work may use it any
  // more. If `deferred`, in collect() after the next markDue(). Returns false if there is no such
  // piece or another thread freed it first.
  static bool endPiece(const SwapBlock& block, std::uint64_t address, bool deferred);

  // Free in two steps. beginFree() ends the use of the piece, but its room stays taken until
  // finishFree(); it returns false as endPiece() does. In between revive() may use it again, for
  // bytes that take as much room.
  static bool beginFree(const SwapBlock& block, std::uint64_t address, std::uint32_t* bytes);
  static void finishFree(const SwapBlock& block, std::uint64_t address);
  static bool revive(const SwapBlock& block, std::uint64_t address, std::uint32_t bytes,
                     std::uint64_t id);

  // Makes all pieces that were freed as deferred due for the next collect().
  void markDue();
  // Frees the pieces that are due. Calls ready(device, context) before pieces of an arena are
  // freed, and stops if that returns false.
  template <typename Ready>
  void collect(Ready ready) {
    arenas_.forEach([&](std::uint32_t, Arena& arena) {
      if (arena.due.load(std::memory_order_acquire) == 0 || !arena.enter()) return true;
      const bool usable = ready(arena.owner.device, arena.owner.context);
      std::uint32_t given = 0;
      if (usable) {
        given = arena.pieces.giveDue();
        arena.due.fetch_sub(given, std::memory_order_acq_rel);
      }
      leave(arena, given);
      return usable;
    });
  }

  // Ends allocation from the arena. Returns true if its block is the caller's to take and abandon,
  // false if it is another thread's.
  static bool close(const SwapBlock& block);

  void forgetAfterFork() { arenas_.forgetAfterFork(); }

 private:
  // Record of a Slab; valid when zero. Plain members are written before the arena is opened.
  struct Arena {
    static constexpr std::uint64_t kOpen = std::uint64_t{1} << 63;
    static constexpr std::uint64_t kInside = std::uint64_t{1} << 32;  // of threads; below: pieces
    static constexpr std::uint64_t kPieces = kInside - 1;

    std::atomic<std::uint32_t> taken;
    std::atomic<std::uint64_t> users;
    std::atomic<std::uint32_t> doomed;
    std::atomic<std::uint32_t> due;
    ArenaOwner owner;
    std::uint32_t number;  // of this record
    std::uint32_t block;   // of the ChunkTable
    std::uint64_t address;
    std::uint64_t bytes;
    ArenaUnits pieces;

    // Keeps the arena until leave(). Returns false if it is closed.
    bool enter() {
      std::uint64_t seen = users.load(std::memory_order_acquire);
      while ((seen & kOpen) != 0) {
        if (users.compare_exchange_weak(seen, seen + kInside, std::memory_order_acq_rel)) {
          return true;
        }
      }
      return false;
    }
    std::uint32_t unitOf(std::uint64_t at) const {
      return static_cast<std::uint32_t>((at - address) / ArenaUnits::kUnit);
    }
    std::uint64_t addressOf(std::uint32_t unit) const { return address + unit * ArenaUnits::kUnit; }
  };

  // Enters the arena of a block. Returns nullptr if the block is no arena any more.
  static Arena* enter(const SwapBlock& block);
  // Reverses enter(), with `gone` pieces less.
  static void leave(Arena& arena, std::uint32_t gone);
  static void giveUp(Arena& arena);
  CUdeviceptr takeFrom(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes, std::uint64_t id,
                       std::uint64_t* held);
  Arena* make(const ArenaOwner& owner, std::uint64_t bytes, bool spare);
  bool back(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes, bool spare);

  Slab<Arena> arenas_;
};

}  // namespace divvy::interposer
