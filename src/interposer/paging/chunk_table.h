// The blocks and chunks of this process, found by address.
#pragma once

#include "paging/chunk.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. No lock and no driver call. Any thread and signal handler.
// Records stay readable for the life of the process. A thread that has a number may read the
// record, and acts on it only after it brought the chunk to a busy state.
class ChunkTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Place {
    std::uint32_t block;
    std::uint32_t chunk;
  };

  // Sets the unit of addresses and chunk sizes: a power of two, the same for all devices. Returns
  // false if it is not a power of two of at least 2, or if another unit is set.
  bool setGranule(std::uint64_t bytes);

  // Takes a block with one reference (the caller's) and no chunk, which no lookup finds yet. The
  // caller fills its plain members. Returns kNone if there is no memory.
  std::uint32_t begin();
  // Appends a chunk to the block, in state kReserved or kSwappingIn; with kSwappingIn the caller is
  // its owner. Lookups find the chunk from here on. Returns kNone, without effect, if there is no
  // memory.
  std::uint32_t addChunk(std::uint32_t block, std::uint64_t address, std::uint64_t bytes,
                         ChunkState state);
  // Makes the block available to lookups by its address and to take(). Returns false if there is no
  // memory.
  bool publish(std::uint32_t block);

  // Withdraws the block that begins at `address`, to be freed, and returns its number. Of several
  // callers exactly one receives it. Returns kNone if there is no such block.
  std::uint32_t take(std::uint64_t address);
  // As take(address), for a caller that knows the block's number. Returns false if the block is
  // withdrawn already.
  bool take(std::uint32_t block, std::uint64_t address);

  // Finds the block and chunk at an address within a block, published or not.
  bool find(std::uint64_t address, Place* out) const;

  // Returns false if no block holds the address for certain. Two loads.
  bool mayHold(std::uint64_t address) const {
    return address >= lowest_.load(std::memory_order_relaxed) &&
           address < highest_.load(std::memory_order_relaxed);
  }

  bool has(std::uint64_t address) const {
    Place place;
    return any() && find(address, &place);
  }

  // Lets lookups find a part of the chunk at another address too, until leavePages(). Returns false
  // if there is no memory.
  bool enterPages(std::uint32_t chunk, std::uint64_t address, std::uint64_t bytes);
  void leavePages(std::uint64_t address, std::uint64_t bytes);
  // Returns bytes; 0 if no unit is set.
  std::uint64_t granule() const {
    const unsigned shift = shift_.load(std::memory_order_relaxed);
    return shift == 0 ? 0 : std::uint64_t{1} << shift;
  }

  // Ends a chunk that the caller brought to kFreeing and released. Returns true if this was the
  // last reference to its block; the caller then gives the addresses back and calls end().
  bool drop(std::uint32_t chunk);
  // Drops the owner's reference. Returns as drop(chunk).
  bool drop(SwapBlock& block);
  void end(std::uint32_t block) { blocks_.give(block); }

  Chunk& chunk(std::uint32_t number) { return chunks_.at(number); }
  SwapBlock& block(std::uint32_t number) { return blocks_.at(number); }

  // Calls visit(number, chunk) for every chunk until visit returns false. forEachOn() visits the
  // chunks of one device, as last observed; the visitor checks again once it owns the chunk.
  template <typename Visit>
  void forEach(Visit visit) {
    chunks_.forEach([&](std::uint32_t number, Chunk& chunk) {
      return chunk.now() == ChunkState::kFree || visit(number, chunk);
    });
  }
  template <typename Visit>
  void forEachOn(unsigned device, Visit visit) {
    forEach([&](std::uint32_t number, Chunk& chunk) {
      return chunk.device.load(std::memory_order_relaxed) != device || visit(number, chunk);
    });
  }
  // Calls visit(number, block) for every published block. The visitor may take() that block.
  template <typename Visit>
  void forEachBlock(Visit visit) {
    struct Call {
      ChunkTable* table;
      Visit* visit;
    } call{this, &visit};
    bases_.forEach(
        [](void* argument, std::uint64_t, Block value) {
          const Call& to = *static_cast<Call*>(argument);
          const auto number = static_cast<std::uint32_t>(value.bytes);
          (*to.visit)(number, to.table->blocks_.at(number));
        },
        &call);
  }

  // Returns whether there was a block at some time; before that no lookup is needed.
  bool any() const { return shift_.load(std::memory_order_relaxed) != 0; }

  void forgetAfterFork();

 private:
  void widen(std::uint64_t begin, std::uint64_t end);

  Slab<Chunk> chunks_;
  Slab<SwapBlock> blocks_;
  AddressMap pages_;  // by address >> shift_: `bytes` is the chunk's number
  AddressMap bases_;  // by address: `bytes` is the block's number
  std::atomic<unsigned> shift_{0};
  // Bounds of all addresses that were ever entered.
  std::atomic<std::uint64_t> lowest_{UINT64_MAX};
  std::atomic<std::uint64_t> highest_{0};
};

}  // namespace divvy::interposer
