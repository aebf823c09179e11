// The blocks and chunks of this process, found by address.
#pragma once

#include "paging/chunk.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. No lock, no driver call; any thread, any signal handler.
// Records stay readable for ever: whoever has a number may look, and act after he has brought the
// chunk's state to a busy one.
class ChunkTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Place {
    std::uint32_t block;
    std::uint32_t chunk;
  };

  // The unit of addresses and chunk sizes: a power of two, the same for all devices. False: it is
  // another one already.
  bool setGranule(std::uint64_t bytes);

  // A block with one reference (the caller's) and no chunk, found by nobody; kNone: no memory. Its
  // plain members are the caller's to fill.
  std::uint32_t begin();
  // Adds a chunk behind the block's last one, in state kReserved or kSwappingIn (whose owner is
  // then the caller); from here on it is found. kNone: no memory, and nothing happened.
  std::uint32_t addChunk(std::uint32_t block, std::uint64_t address, std::uint64_t bytes,
                         ChunkState state);
  // From here on the block is found by its address, and can be taken. False: no memory.
  bool publish(std::uint32_t block);

  // The block that begins at `address`, no longer published: to be freed, by exactly one of those
  // who ask; kNone if there is none.
  std::uint32_t take(std::uint64_t address);
  // As take, for a block of which only the number is known; false: it was taken.
  bool take(std::uint32_t block, std::uint64_t address);

  // What is at an address within a block, published or not.
  bool find(std::uint64_t address, Place* out) const;

  // False: certainly not. Two loads.
  bool mayHold(std::uint64_t address) const {
    return address >= lowest_.load(std::memory_order_relaxed) &&
           address < highest_.load(std::memory_order_relaxed);
  }

  bool has(std::uint64_t address) const {
    Place place;
    return any() && find(address, &place);
  }

  // From here on, and until leavePages, a part of the chunk is found at an address more. False: no
  // memory.
  bool enterPages(std::uint32_t chunk, std::uint64_t address, std::uint64_t bytes);
  void leavePages(std::uint64_t address, std::uint64_t bytes);
  // Bytes; 0: none is set.
  std::uint64_t granule() const {
    const unsigned shift = shift_.load(std::memory_order_relaxed);
    return shift == 0 ? 0 : std::uint64_t{1} << shift;
  }

  // Ends a chunk that the caller brought to kFreeing and undid. True: this was the last reference
  // to its block; then end(), after the addresses have been given back.
  bool drop(std::uint32_t chunk);
  // The owner's reference; as above.
  bool drop(SwapBlock& block);
  void end(std::uint32_t block) { blocks_.give(block); }

  Chunk& chunk(std::uint32_t number) { return chunks_.at(number); }
  SwapBlock& block(std::uint32_t number) { return blocks_.at(number); }

  // Calls visit(number, chunk) for every chunk, resp. those of a device as far as can be told
  // (check again after the state is yours), until it returns false.
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
  // Calls visit(number, block) for every published block; it may take the one that it is given.
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

  // There was a block at some time: until then nothing needs to be looked up.
  bool any() const { return shift_.load(std::memory_order_relaxed) != 0; }

  void forgetAfterFork();

 private:
  void widen(std::uint64_t begin, std::uint64_t end);

  Slab<Chunk> chunks_;
  Slab<SwapBlock> blocks_;
  AddressMap pages_;  // by address >> shift_: `bytes` is the chunk's number
  AddressMap bases_;  // by address: `bytes` is the block's number
  std::atomic<unsigned> shift_{0};
  // Between them lies all that was ever entered.
  std::atomic<std::uint64_t> lowest_{UINT64_MAX};
  std::atomic<std::uint64_t> highest_{0};
};

}  // namespace divvy::interposer
