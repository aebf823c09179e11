// Memory that can be swapped: what is kept of a block of the application, and of the chunks that it
// is made of. A chunk is the unit of a swap: one driver handle at one address for ever.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/pins.h"

struct CUctx_st;  // as in the driver's header

namespace divvy::interposer {

using ledger::PinReason;

// What stands behind a chunk's address. In the word Chunk::state, changed by compare-and-swap only:
// whoever brings it to a busy state alone calls the driver for the chunk and changes its other
// members, until he brings it out of there. Nobody waits for a busy chunk.
enum class ChunkState : std::uint32_t {
  kFree = 0,         // no chunk
  kReserved = 1,     // reserved addresses; it was never on the device and has no contents
  kDevice = 2,       // a handle, mapped and accessible
  kSwappingOut = 3,  // busy: still mapped, being copied out, from the device or from kHost
  kSwappedOut = 4,   // reserved addresses; the contents are in host memory
  kSwappingIn = 5,   // busy: being made, mapped, copied in
  kHost = 6,         // host memory mapped at the address: used where it is
  kFreeing = 7,      // busy: being undone for good
  kPinned = 8,       // as kDevice, but it may not leave
};
inline constexpr unsigned kChunkStates = 9;

constexpr bool isBusy(ChunkState state) {
  return state == ChunkState::kSwappingOut || state == ChunkState::kSwappingIn ||
         state == ChunkState::kFreeing;
}

// Device memory stands behind the address, taken or about to be.
constexpr bool isMapped(ChunkState state) {
  return state == ChunkState::kDevice || state == ChunkState::kSwappingOut ||
         state == ChunkState::kSwappingIn || state == ChunkState::kPinned;
}

namespace chunk_detail {

constexpr std::uint32_t bit(ChunkState state) {
  return std::uint32_t{1} << static_cast<unsigned>(state);
}

constexpr std::uint32_t successors(ChunkState from) {
  using enum ChunkState;
  switch (from) {
    case kFree:
      return bit(kReserved) | bit(kSwappingIn);  // an allocation without, or with room for it
    case kReserved:
      return bit(kSwappingIn) | bit(kFreeing);
    case kDevice:  // kSwappingIn, as in kPinned: where it is seen changes
      return bit(kSwappingOut) | bit(kSwappingIn) | bit(kPinned) | bit(kFreeing);
    case kSwappingOut:
      return bit(kSwappedOut) | bit(kDevice) | bit(kHost);
    case kSwappedOut:
      return bit(kSwappingIn) | bit(kHost) | bit(kFreeing);
    case kSwappingIn:  // kReserved, kSwappedOut: it could not be made
      return bit(kDevice) | bit(kPinned) | bit(kSwappedOut) | bit(kReserved) | bit(kHost);
    case kHost:  // kSwappingIn: where it is seen changes
      return bit(kSwappingOut) | bit(kSwappingIn) | bit(kFreeing);
    case kFreeing:
      return bit(kFree);
    case kPinned:
      return bit(kDevice) | bit(kSwappingIn) | bit(kFreeing);
  }
  return 0;
}

}  // namespace chunk_detail

constexpr bool mayBecome(ChunkState from, ChunkState to) {
  return (chunk_detail::successors(from) & chunk_detail::bit(to)) != 0;
}

// Bits of Chunk::flags, set by anybody at any time, dealt with by whoever brings the chunk out of a
// busy state (after he did so).
inline constexpr std::uint32_t kDoomed = 1u << 0;     // its block was freed
inline constexpr std::uint32_t kViewStale = 1u << 1;  // where it is seen, or by whom, has changed
inline constexpr std::uint32_t kDue = 1u << 2;   // doomed before its device's work was waited for
inline constexpr std::uint32_t kHome = 1u << 3;  // kHost will not do: it is about to be pinned
inline constexpr std::uint32_t kExchanged = 1u << 4;  // it left as the colder one

// Records of a Slab: valid when zero.
struct Chunk {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> state;  // ChunkState, and above its 8 bits the generation
  std::atomic<std::uint32_t> flags;  // kDoomed ...
  std::atomic<std::uint32_t> block;  // number of its SwapBlock
  // Instants of AccessRecency: when it was last known to be used, when a launch had an address
  // within it, and one that lies before it in the same block, with none that launches name between.
  std::atomic<std::uint64_t> last_use;
  std::atomic<std::uint64_t> named;
  std::atomic<std::uint64_t> behind;
  std::atomic<std::uint32_t> device;  // ledger index
  std::uint32_t next;                 // chunk of the block, by address; or kNone of the slab
  std::uint32_t host;                 // number of its segment in the host store
  std::uint64_t address;
  std::uint64_t bytes;   // on the card, on the account and of addresses alike
  std::uint64_t handle;  // of the driver, while mapped
  bool at_host;          // that handle is of host memory
  std::uint32_t shown;   // bits of SwapBlock::views at which it is mapped too

  static constexpr std::uint32_t kStateMask = 0xff;

  static ChunkState stateOf(std::uint32_t word) {
    return static_cast<ChunkState>(word & kStateMask);
  }
  static std::uint32_t generationOf(std::uint32_t word) { return word & ~kStateMask; }
  static std::uint32_t wordOf(std::uint32_t generation, ChunkState state) {
    return generation | static_cast<std::uint32_t>(state);
  }

  std::uint32_t word() const { return state.load(std::memory_order_seq_cst); }
  ChunkState now() const { return stateOf(word()); }
  // Which of the chunks that had this record: it may be another one's once the chunk was freed.
  std::uint32_t generation() const { return generationOf(word()); }

  // Of several that try, from whatever state, one succeeds. What the chunk's last owner wrote is
  // seen by its next. In one order with the flags: whoever sets a flag and then finds the chunk
  // busy leaves it to the owner, who looks for flags after this.
  template <ChunkState kFrom, ChunkState kTo>
  bool advance() {
    static_assert(mayBecome(kFrom, kTo));
    std::uint32_t seen = word();
    return stateOf(seen) == kFrom &&
           state.compare_exchange_strong(seen, wordOf(generationOf(seen), kTo),
                                         std::memory_order_seq_cst);
  }
  // From any state that is not busy to kFreeing, if the record still has this generation. The state
  // that it was in, or kFree: it is not the caller's to free.
  ChunkState claimForFreeing(std::uint32_t generation) {
    std::uint32_t seen = word();
    while (generationOf(seen) == generation && !isBusy(stateOf(seen)) &&
           stateOf(seen) != ChunkState::kFree) {
      if (state.compare_exchange_weak(seen, wordOf(generation, ChunkState::kFreeing),
                                      std::memory_order_seq_cst)) {
        return stateOf(seen);
      }
    }
    return ChunkState::kFree;
  }

  // Of the chunk's owner; others may look whether there is one, and bring the state to theirs then.
  void setHandle(std::uint64_t value) { __atomic_store_n(&handle, value, __ATOMIC_RELAXED); }
  bool hasHandle() const { return __atomic_load_n(&handle, __ATOMIC_RELAXED) != 0; }

  bool has(std::uint32_t flag) const { return (flags.load(std::memory_order_seq_cst) & flag) != 0; }
  void set(std::uint32_t flag) { flags.fetch_or(flag, std::memory_order_seq_cst); }
  void clear(std::uint32_t flag) { flags.fetch_and(~flag, std::memory_order_seq_cst); }
};

// At how many addresses that it chose itself the application can see a block, beside its own, which
// then only we use.
inline constexpr unsigned kMaxViews = 4;

// How memory was asked for that the application maps itself; all 0 for any other.
struct HandleAttributes {
  bool handles;                // it is such memory
  std::uint32_t physical;      // number of its PhysicalBlock, and 1; known once the chunks are made
  std::uint32_t handle_types;  // that it may be exported as
  bool rdma;
};

// What the application calls one allocation, or an arena of small ones. Written by the thread that
// makes it, constant from its publication on, but for the atomics.
struct SwapBlock {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> references;  // one of its owner, one of each chunk
  std::atomic<std::uint32_t> pins;        // PinReason bits
  std::atomic<std::uint32_t> sync_memops;
  std::uint32_t first;  // of its chunks, by address
  std::uint32_t last;
  std::uint32_t count;
  std::uint32_t device;     // ledger index
  std::uint32_t ordinal;    // the driver's number of the device
  std::uint64_t address;    // of the addresses reserved for it
  std::uint64_t requested;  // bytes, as the application sees them
  std::uint64_t reserved;   // bytes of addresses
  std::uint64_t buffer_id;
  CUctx_st* owner;      // dies with it
  std::uint32_t arena;  // number of the Arena that it is, and 1; 0: it is one allocation
  std::atomic<std::uint64_t> ipc_secret;  // by which other processes open it; 0: none may
  std::uint32_t pool;                     // stream-ordered: its index in the MempoolTracker, and 1
  HandleAttributes made_as;
  std::atomic<std::uint32_t> views[kMaxViews];  // numbers of Views, and 1

  bool isHandles() const { return made_as.handles; }
};

}  // namespace divvy::interposer
