// Frees swappable blocks.
#include "accounting/charge.h"
#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kFreePatience = 2'000'000'000;
constexpr long kFreeNap = 50'000;

bool isCaptureError(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

CUresult synchroniseContext(CUcontext context) {
  const CurrentContext current(context);
  return current.set() ? real<Cu::cuCtxSynchronize>()() : CUDA_SUCCESS;
}

// All contexts of a device except one.
struct Others {
  unsigned device;
  CUcontext owner;
  unsigned count = 0;
  void (*visit)(CUcontext) = nullptr;  // null: only counts them

  void meet(CUcontext context) {
    if (context == owner || context == nullptr) return;
    ++count;
    if (visit != nullptr) visit(context);
  }
  void meetAll() {
    const Runtime& state = runtime();
    if (state.primaries.charged(device)) meet(state.primaries.handle(device));
    state.contexts.forEach(
        [](void* self, std::uint64_t key, Block block) {
          auto* others = static_cast<Others*>(self);
          if (block.device == others->device) others->meet(reinterpret_cast<CUcontext>(key));
        },
        this);
  }
};

// Waits for the device's work in all contexts, and returns the result of `owner`'s. Other contexts
// may end at any time, except while they are in use.
CUresult synchroniseDevice(unsigned device, CUcontext owner) {
  const CUresult result = synchroniseContext(owner);
  if (result != CUDA_SUCCESS) return result;
  Others others{device, owner};
  others.meetAll();
  ContextGuard& use = runtime().context_use;
  if (others.count == 0 || !use.begin()) return result;
  others.visit = [](CUcontext context) { synchroniseContext(context); };
  others.meetAll();
  use.end();
  return result;
}

}  // namespace

// The first step of cuMemFree: wait until the block is unused, or let the driver decide whether a
// capture permits that wait.
CUresult Swappable::endWork(const SwapBlock& block, bool capturing) {
  if (capturing) return askAboutCaptures(block.device);
  if (runtime().memory_gate.closed()) return CUDA_SUCCESS;  // all work has ended
  return synchroniseDevice(block.device, block.owner);
}

HookOutcome Swappable::release(CUdeviceptr address, CUresult* result) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  CUcontext current = nullptr;
  if (!state.chunks.any() || !state.chunks.find(address, &place)) return HookOutcome::kNative;
  const SwapBlock& block = state.chunks.block(place.block);
  Arenas::Found piece;
  const bool begins = block.arena == 0
                          ? block.address == address
                          : Arenas::find(block, address, &piece) && piece.address == address;
  if (!begins || real<Cu::cuCtxGetCurrent>()(&current) != CUDA_SUCCESS || current == nullptr) {
    return HookOutcome::kNative;  // the driver's answer is an error
  }
  const bool capturing = state.captures.open();
  *result = endWork(block, capturing);
  if (capturing && *result == CUDA_ERROR_OUT_OF_MEMORY) *result = CUDA_SUCCESS;
  const bool deferred = capturing || isCaptureError(*result);
  if (*result != CUDA_SUCCESS && (capturing || !deferred)) return HookOutcome::kDone;
  const std::uint32_t pool = block.pool;
  const std::uint64_t used =
      ArenaUnits::roomOf(block.arena != 0 ? piece.piece.bytes : block.requested);
  if (block.arena != 0) {
    if (!freePiece(block, address, deferred)) return HookOutcome::kNative;
    if (pool != 0) state.pools.noteUsed(pool - 1, 0 - used);
    *result = CUDA_SUCCESS;
    return HookOutcome::kDone;
  }
  const std::uint32_t number = state.chunks.take(address);
  if (number == ChunkTable::kNone) return HookOutcome::kNative;  // another thread freed it just now
  if (pool != 0) state.pools.noteUsed(pool - 1, 0 - used);
  *result = CUDA_SUCCESS;
  if (deferred) {
    doom(number);
    deferred_.fetch_add(1, std::memory_order_release);
  } else {
    abandon(number);
    collect();
  }
  return HookOutcome::kDone;
}

// Returns false if another thread freed it just now.
bool Swappable::freePiece(const SwapBlock& block, CUdeviceptr address, bool deferred) {
  if (!Arenas::endPiece(block, address, deferred)) return false;
  if (deferred) {
    deferred_.fetch_add(1, std::memory_order_release);
  } else {
    collect();
  }
  return true;
}

void Swappable::mark(Chunk& chunk) {
  freed_.fetch_add(1, std::memory_order_seq_cst);
  chunk.set(kDoomed);
}

// Marks every chunk as freed; the next thread that owns a chunk frees it. Drops the owner's
// reference.
void Swappable::doom(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    at = chunk.next;  // must precede its free
    mark(chunk);
  }
  if (chunks.drop(block)) end(number);
}

void Swappable::abandon(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    const std::uint32_t own = at;
    const std::uint32_t generation = chunk.generation();
    at = chunk.next;
    mark(chunk);
    undo(own, generation);
  }
  if (chunks.drop(block)) end(number);
  // There may be room now for missing memory, or none may be missing any more.
  if (!runtime().memory_gate.isOpen()) runtime().pagers.wake();
}

void Swappable::undo(std::uint32_t number, std::uint32_t generation) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  const ChunkState was = chunk.claimForFreeing(generation);
  if (was == ChunkState::kFree) return;
  const unsigned device = chunk.device.load(std::memory_order_relaxed);
  const std::uint32_t block = chunk.block.load(std::memory_order_relaxed);
  const std::uint64_t bytes = chunk.bytes;
  // A chunk with contents that could not be restored may still be mapped.
  const bool mapped = isMapped(was) || chunk.handle != 0;
  const bool at_host = mapped && chunk.at_host;
  if (mapped && state.backing.unmap(chunk) != CUDA_SUCCESS) {
    // The driver keeps it, and it stays charged.
    freed_.fetch_sub(1, std::memory_order_seq_cst);
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemUnmap), bytes);
    return;
  }
  if (was == ChunkState::kSwappedOut) state.host_store.give(chunk.host);
  const bool last = state.chunks.drop(number);
  if (was != ChunkState::kPinned) {
    state.swap_board.addSwappable(device, -static_cast<std::int64_t>(bytes));
    if (mapped && !at_host) state.swap_board.giveRoom(device, bytes);
    if (at_host) state.swap_board.giveHost(bytes);
  }
  state.tenant.account().release(device, bytes);
  freed_.fetch_sub(1, std::memory_order_seq_cst);
  if (was == ChunkState::kPinned) state.swap_board.showPinned(device);
  if (last) end(block);
}

// Requires that no reference to the block is left.
void Swappable::end(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  const SwapBlock& block = chunks.block(number);
  {
    const RelaxedCapture relaxed;
    real<Cu::cuMemAddressFree>()(block.address, block.reserved);
  }
  if (block.pool != 0) runtime().pools.noteReserved(block.pool - 1, 0 - block.reserved, -1);
  chunks.end(number);
}

// Blocks that are doomed after a wait began are not freed by it.
void Swappable::collectDeferred() {
  Runtime& state = runtime();
  if (state.captures.open() || collecting_.exchange(true, std::memory_order_acquire)) return;
  // Frees that are deferred from here on are counted again.
  if (deferred_.exchange(0, std::memory_order_acq_rel) != 0) {
    state.chunks.forEach([](std::uint32_t, Chunk& chunk) {
      if (chunk.has(kDoomed)) chunk.set(kDue);
      return true;
    });
    state.arenas.markDue();
    std::uint32_t ready = 0;  // bits of devices
    const auto synchronise = [&ready](unsigned device, CUcontext owner) {
      const std::uint32_t bit = 1u << device;
      if ((ready & bit) == 0 && synchroniseDevice(device, owner) == CUDA_SUCCESS) ready |= bit;
      return (ready & bit) != 0;
    };
    if (!freeDue(synchronise)) deferred_.fetch_add(1, std::memory_order_release);
  }
  collecting_.store(false, std::memory_order_release);
}

// Returns false if some could not be freed.
template <typename Synchronise>
bool Swappable::freeDue(Synchronise synchronise) {
  Runtime& state = runtime();
  bool all = true;
  state.chunks.forEach([&](std::uint32_t number, Chunk& chunk) {
    const std::uint32_t generation = chunk.generation();
    if (!chunk.has(kDue)) return true;
    const unsigned device = chunk.device.load(std::memory_order_relaxed);
    const std::uint32_t block = chunk.block.load(std::memory_order_relaxed);
    all = synchronise(device, state.chunks.block(block).owner);
    if (all) undo(number, generation);
    return all;
  });
  state.arenas.collect([&](unsigned device, CUcontext owner) {
    const bool ready = synchronise(device, owner);
    all = all && ready;
    return ready;
  });
  return all;
}

bool Swappable::awaitFrees() {
  if (!runtime().chunks.any() || divvy_thread.callback || divvy_thread.forking) return false;
  const ErrnoKeeper keeper;
  AsyncAllocator& streams = runtime().stream_memory;
  for (const std::uint64_t until = sys::now() + kFreePatience; sys::now() < until;) {
    collect();
    const bool coming = streams.any() && streams.reclaim();
    if (coming) {
      sys::nap(kFreeNap);
      continue;
    }
    if (freed_.load(std::memory_order_seq_cst) == 0) break;
    // Deferred frees cannot be collected now. Chunks that other threads owned may be free
    // nevertheless.
    if (deferred_.load(std::memory_order_acquire) != 0 &&
        !collecting_.load(std::memory_order_acquire)) {
      break;
    }
    sys::nap(kFreeNap);
  }
  return true;
}

void Swappable::sweep(unsigned device, CUcontext context, bool all) {
  Runtime& state = runtime();
  if (!state.chunks.any()) return;
  state.stream_memory.contextEnded(device, context, all);
  state.chunks.forEachBlock([&](std::uint32_t number, SwapBlock& block) {
    if (block.device != device || !(all || (context != nullptr && block.owner == context))) return;
    if (block.arena != 0 && !Arenas::close(block)) return;
    if (state.chunks.take(number, block.address)) abandon(number);
  });
  // Collects blocks that were freed during a capture of that context.
  collect();
}

void Swappable::forgetAfterFork() {
  deferred_.store(0, std::memory_order_relaxed);
  collecting_.store(false, std::memory_order_relaxed);
  freed_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
