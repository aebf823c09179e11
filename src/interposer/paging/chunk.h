// The records of swappable memory: the application's blocks and the chunks of each block. A chunk
// is the unit of swapping: one driver handle at one address for its whole life.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/pins.h"

struct CUctx_st;  // as in the driver's header

namespace divvy::interposer {

using ledger::PinReason;

// The memory behind a chunk's address. Stored in Chunk::state, which is changed by compare-and-swap
// only. The thread that brings a chunk to a busy state owns it until it leaves that state. Only the
// owner calls the driver for the chunk and changes its other members. No thread waits for a busy
// chunk.
enum class ChunkState : std::uint32_t {
  kFree = 0,         // no chunk
  kReserved = 1,     // reserved addresses; never on the device, no contents
  kDevice = 2,       // a handle, mapped and accessible
  kSwappingOut = 3,  // busy: still mapped, being copied out of the device or of host memory (kHost)
  kSwappedOut = 4,   // reserved addresses; contents in host memory
  kSwappingIn = 5,   // busy: being created, mapped and copied in
  kHost = 6,         // host memory mapped at the address; used in place
  kFreeing = 7,      // busy: being released for good
  kPinned = 8,       // as kDevice, but cannot be swapped out
};
inline constexpr unsigned kChunkStates = 9;

constexpr bool isBusy(ChunkState state) {
  return state == ChunkState::kSwappingOut || state == ChunkState::kSwappingIn ||
         state == ChunkState::kFreeing;
}

// Returns whether device memory is behind the address or counted for it.
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
      return bit(kReserved) | bit(kSwappingIn);  // allocation without or with room for it
    case kReserved:
      return bit(kSwappingIn) | bit(kFreeing);
    case kDevice:  // kSwappingIn, as in kPinned: its views change
      return bit(kSwappingOut) | bit(kSwappingIn) | bit(kPinned) | bit(kFreeing);
    case kSwappingOut:
      return bit(kSwappedOut) | bit(kDevice) | bit(kHost);
    case kSwappedOut:
      return bit(kSwappingIn) | bit(kHost) | bit(kFreeing);
    case kSwappingIn:  // kReserved, kSwappedOut: it could not be created
      return bit(kDevice) | bit(kPinned) | bit(kSwappedOut) | bit(kReserved) | bit(kHost);
    case kHost:  // kSwappingIn: its views change
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

// Bits of Chunk::flags. Any thread sets them at any time. The thread that brings the chunk out of a
// busy state handles them after that change.
inline constexpr std::uint32_t kDoomed = 1u << 0;     // its block was freed
inline constexpr std::uint32_t kViewStale = 1u << 1;  // its views or access changed
inline constexpr std::uint32_t kDue = 1u << 2;   // doomed before the wait for its device's work
inline constexpr std::uint32_t kHome = 1u << 3;  // kHost does not suffice: about to be pinned
inline constexpr std::uint32_t kExchanged = 1u << 4;  // exchanged: swapped out as the colder chunk

// Record of a Slab; valid when zero.
struct Chunk {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> state;  // ChunkState in the low 8 bits, generation above
  std::atomic<std::uint32_t> flags;  // kDoomed and the other bits above
  std::atomic<std::uint32_t> block;  // number of its SwapBlock
  // Instants of AccessRecency: the latest known use; the latest launch that named an address within
  // the chunk; the latest launch that named an earlier chunk of the block, with no named chunk
  // between them.
  std::atomic<std::uint64_t> last_use;
  std::atomic<std::uint64_t> named;
  std::atomic<std::uint64_t> behind;
  std::atomic<std::uint32_t> device;  // ledger index
  std::uint32_t next;                 // next chunk of the block, by address; or kNone of the slab
  std::uint32_t host;                 // number of its segment in the swap store
  std::uint64_t address;
  std::uint64_t bytes;   // of device memory, of the charge and of the address range alike
  std::uint64_t handle;  // the driver's, while mapped
  bool at_host;          // whether the handle is of host memory
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
  // Returns the generation: which of the chunks that have used this record it is. A freed chunk's
  // record may be reused.
  std::uint32_t generation() const { return generationOf(word()); }

  // Changes the state from kFrom to kTo; false if the state is another. If several threads try,
  // from any state, one succeeds. Writes of the last owner of the chunk are visible to the next
  // owner. State and flags are in one total order (seq_cst). A thread that sets a flag and then
  // finds the chunk busy leaves it to the owner. The owner reads the flags after this change.
  template <ChunkState kFrom, ChunkState kTo>
  bool advance() {
    static_assert(mayBecome(kFrom, kTo));
    std::uint32_t seen = word();
    return stateOf(seen) == kFrom &&
           state.compare_exchange_strong(seen, wordOf(generationOf(seen), kTo),
                                         std::memory_order_seq_cst);
  }
  // Changes any state that is not busy to kFreeing, if the record still has this generation.
  // Returns the previous state; kFree if the chunk is not the caller's to free.
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

  // Only the chunk's owner sets the handle. Any thread may check whether there is a handle, and
  // then brings the chunk to a busy state before it acts on that.
  void setHandle(std::uint64_t value) { __atomic_store_n(&handle, value, __ATOMIC_RELAXED); }
  bool hasHandle() const { return __atomic_load_n(&handle, __ATOMIC_RELAXED) != 0; }

  bool has(std::uint32_t flag) const { return (flags.load(std::memory_order_seq_cst) & flag) != 0; }
  void set(std::uint32_t flag) { flags.fetch_or(flag, std::memory_order_seq_cst); }
  void clear(std::uint32_t flag) { flags.fetch_and(~flag, std::memory_order_seq_cst); }
};

// Maximum number of addresses, chosen by the application, at which a block can be mapped. Its own
// address is then used by this library only.
inline constexpr unsigned kMaxViews = 4;

// How memory was requested that the application maps itself (cuMemCreate); all 0 for other memory.
struct HandleAttributes {
  bool handles;                // whether it is such memory
  std::uint32_t physical;      // number of its PhysicalBlock plus 1; known once its chunks exist
  std::uint32_t handle_types;  // handle types that it may be exported as
  bool rdma;
};

// An allocation, as the application sees it, or an arena of small allocations. The thread that
// creates a block writes it. While it is published, only the atomics change.
struct SwapBlock {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> references;  // one of its owner, one of each chunk
  std::atomic<std::uint32_t> pins;        // PinReason bits
  std::atomic<std::uint32_t> sync_memops;
  std::uint32_t first;  // its first chunk, by address
  std::uint32_t last;
  std::uint32_t count;
  std::uint32_t device;     // ledger index
  std::uint32_t ordinal;    // the driver's number of the device
  std::uint64_t address;    // of the addresses reserved for it
  std::uint64_t requested;  // bytes, as the application sees them
  std::uint64_t reserved;   // bytes of addresses
  std::uint64_t buffer_id;
  CUctx_st* owner;                        // context that frees the block at its end
  std::uint32_t arena;                    // number of its Arena plus 1; 0: a single allocation
  std::atomic<std::uint64_t> ipc_secret;  // lets other processes open it; 0: not exported
  std::uint32_t pool;  // index of its pool in the MempoolTracker plus 1, if stream-ordered
  HandleAttributes made_as;
  std::atomic<std::uint32_t> views[kMaxViews];  // numbers of views, plus 1

  bool isHandles() const { return made_as.handles; }
};

}  // namespace divvy::interposer
