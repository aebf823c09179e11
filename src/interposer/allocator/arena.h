// Blocks that are too small to have chunks of their own: pieces of arenas, each of which is a block
// of one chunk.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"
#include "allocator/arena_units.h"
#include "support/slab.h"

namespace divvy::interposer {

struct SwapBlock;

// Whose pieces an arena has.
struct ArenaOwner {
  unsigned device;  // ledger index
  CUdevice ordinal;
  CUcontext context;   // it dies with it; null: with the last of the device
  std::uint32_t pool;  // stream-ordered: its index in the MempoolTracker, and 1
  bool operator==(const ArenaOwner&) const = default;
};

// One per process, in static storage; any thread. No lock. An arena is given back by whoever leaves
// it without a piece in it; what the account is charged is the arena, whole.
class Arenas {
 public:
  // A piece in use, as the application sees it.
  struct Found {
    std::uint64_t address;
    ArenaUnits::ArenaUnit piece;
  };

  // A piece of `bytes` with an id, 0 if there is none to be had: neither in an arena that is there
  // nor in a new one. Arenas are as large as all that the owner has, at least `granule` and at most
  // `most`: what is charged is less than twice what was once in use, and a granule.
  CUdeviceptr take(const ArenaOwner& owner, std::uint64_t bytes, std::uint64_t id,
                   std::uint64_t granule, std::uint64_t most);

  // What is at an address of a block that is an arena; false: nothing.
  static bool find(const SwapBlock& block, std::uint64_t address, Found* out);
  static void setSyncMemops(const SwapBlock& block, std::uint64_t address, bool set);

  // Frees the piece that begins at `address`: now, with nobody using it any more; or, `deferred`,
  // by collect() after the next markDue(). False: there is none, or somebody else was first.
  static bool endPiece(const SwapBlock& block, std::uint64_t address, bool deferred);

  // In two steps: false, as above; else it is nobody's, but its room taken until given. In between
  // it may be used again for as much room.
  static bool beginFree(const SwapBlock& block, std::uint64_t address, std::uint32_t* bytes);
  static void finishFree(const SwapBlock& block, std::uint64_t address);
  static bool revive(const SwapBlock& block, std::uint64_t address, std::uint32_t bytes,
                     std::uint64_t id);

  // What was freed deferred is to be freed by the next visit.
  void markDue();
  // Calls ready(device, context) before anything of an arena's is freed; it stops when that fails.
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

  // Nothing is taken from the arena any more. True: its block is the caller's to take and abandon;
  // else it is somebody else's.
  static bool close(const SwapBlock& block);

  void forgetAfterFork() { arenas_.forgetAfterFork(); }

 private:
  // Records of a Slab: valid when zero. Plain members are written before it is opened.
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

    // False: it is closed. Else it stays until leave().
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

  // The arena that a block is, entered; nullptr: it is none any more.
  static Arena* enter(const SwapBlock& block);
  // The reverse, with so many pieces gone.
  static void leave(Arena& arena, std::uint32_t gone);
  static void giveUp(Arena& arena);
  CUdeviceptr takeFrom(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes, std::uint64_t id,
                       std::uint64_t* held);
  Arena* make(const ArenaOwner& owner, std::uint64_t bytes, bool spare);
  bool back(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes, bool spare);

  Slab<Arena> arenas_;
};

}  // namespace divvy::interposer
