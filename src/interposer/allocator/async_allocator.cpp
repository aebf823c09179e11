#include "allocator/async_allocator.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr unsigned kDisableTiming = 2;
constexpr std::uint64_t kSmallWaste = std::uint64_t{2} << 20;

std::uint32_t keyOf(const Pool& pool) {
  return static_cast<std::uint32_t>(runtime().pools.indexOf(&pool)) + 1;
}

// A freed block is reused for another size if little of it is wasted.
bool fits(std::uint64_t room, std::uint64_t bytes, bool piece) {
  if (piece) return room == ArenaUnits::roomOf(bytes);
  return room >= bytes && room - bytes <= bytes / 8 + kSmallWaste;
}

}  // namespace

// ---- allocations -------------------------------------------------------------------------------

template <typename Wanted>
AsyncAllocator::DeferredFree* AsyncAllocator::claimOne(Stage stage, Wanted wanted) {
  DeferredFree* found = nullptr;
  freed_.forEach([&](std::uint32_t, DeferredFree& freed) {
    if (freed.stage.load(std::memory_order_acquire) != stage || !wanted(freed)) return true;
    if (!freed.claim(stage)) return true;
    // The record may have changed since it was checked.
    if (wanted(freed)) {
      found = &freed;
      return false;
    }
    freed.stage.store(stage, std::memory_order_release);
    return true;
  });
  return found;
}

// Puts the block in use again at its address. Returns 0 if that failed.
CUdeviceptr AsyncAllocator::revive(DeferredFree& freed, Pool& pool, std::uint64_t bytes) {
  Runtime& state = runtime();
  SwapBlock& block = state.chunks.block(freed.block);
  const CUdeviceptr address = freed.address;
  bool revived = false;
  if (freed.is_piece.load(std::memory_order_relaxed)) {
    revived =
        Arenas::revive(block, address, static_cast<std::uint32_t>(bytes), state.swappable.nextId());
  } else {
    block.requested = bytes;
    block.buffer_id = state.swappable.nextId();
    revived = state.chunks.publish(freed.block);
  }
  if (!revived) {
    drop(freed);
    return 0;
  }
  unlist(freed);
  pool.used.add(ArenaUnits::roomOf(bytes));
  return address;
}

// Reuses a block that this stream freed, even if it has not reached the free, or a block that is
// idle.
CUdeviceptr AsyncAllocator::again(Pool& pool, std::uint64_t bytes, const StreamRef& place,
                                  bool piece) {
  if (!any()) return 0;
  const std::uint32_t key = keyOf(pool);
  const auto does = [&](const DeferredFree& freed) {
    return freed.pool.load(std::memory_order_relaxed) == key &&
           freed.is_piece.load(std::memory_order_relaxed) == piece &&
           fits(freed.bytes.load(std::memory_order_relaxed), bytes, piece);
  };
  DeferredFree* found = nullptr;
  if (place.id != 0) {
    found = claimOne(Stage::kWaiting, [&](const DeferredFree& freed) {
      return freed.stream.load(std::memory_order_relaxed) == place.id && does(freed);
    });
  }
  if (found == nullptr) found = claimOne(Stage::kIdle, does);
  if (found == nullptr) {
    settle();
    found = claimOne(Stage::kIdle, does);
  }
  return found == nullptr ? 0 : revive(*found, pool, bytes);
}

HookOutcome AsyncAllocator::allocate(Pool& pool, std::uint64_t bytes, const StreamRef& place,
                                     CUdeviceptr* out, CUresult* result) {
  Runtime& state = runtime();
  if (out == nullptr || bytes == 0 || !pool.plain.load(std::memory_order_relaxed)) {
    return HookOutcome::kNative;
  }
  const BackingTerms* terms = state.backing.terms(pool.ordinal, pool.device);
  if (terms == nullptr || !terms->usable || terms->ordinal != pool.ordinal || !startSwapping()) {
    return HookOutcome::kNative;
  }
  if (!state.captures.open()) state.swappable.collect();
  *result = CUDA_SUCCESS;
  const bool piece = bytes < terms->granule && bytes <= ArenaUnits::kMaxBytes;
  CUdeviceptr address = again(pool, bytes, place, piece);
  if (address != 0) {
    *out = address;
    return HookOutcome::kDone;
  }
  if (piece) {
    address = state.arenas.take({pool.device, pool.ordinal, nullptr, keyOf(pool)}, bytes,
                                state.swappable.nextId(), terms->granule, mostArena(*terms));
    if (address == 0) return HookOutcome::kNative;
  } else {
    const std::uint32_t number = state.swappable.createPooled(pool, bytes, result);
    if (number == ChunkTable::kNone) return HookOutcome::kDone;
    address = state.chunks.block(number).address;
    if (!state.chunks.publish(number)) {
      noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemAllocAsync), bytes);
      state.swappable.abandon(number);
      *result = CUDA_ERROR_OUT_OF_MEMORY;
      return HookOutcome::kDone;
    }
  }
  pool.used.add(ArenaUnits::roomOf(bytes));
  *out = address;
  return HookOutcome::kDone;
}

// ---- frees -------------------------------------------------------------------------------------

bool AsyncAllocator::isBlock(CUdeviceptr address) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  if (!state.chunks.any() || !state.chunks.find(address, &place)) return false;
  const SwapBlock& block = state.chunks.block(place.block);
  Arenas::Found piece;
  if (block.arena != 0) return Arenas::find(block, address, &piece) && piece.address == address;
  return block.address == address && !block.isHandles();
}

AsyncAllocator::DeferredFree* AsyncAllocator::begin(const StreamRef& place) {
  const std::uint32_t number = freed_.take();
  if (number == Slab<DeferredFree>::kNone) return nullptr;
  DeferredFree& freed = freed_.at(number);
  freed.number = number;
  freed.stream.store(place.id, std::memory_order_relaxed);
  freed.context.store(place.context, std::memory_order_relaxed);
  return &freed;
}

// Takes an event of the stream's context.
bool AsyncAllocator::haveEvent(DeferredFree& freed) {
  const RelaxedCapture relaxed;
  const std::uint32_t ended = runtime().context_use.ended();
  const CUcontext context = freed.context.load(std::memory_order_relaxed);
  if (freed.event != nullptr && freed.ended == ended) {
    if (freed.event_context == context) return true;
    real<Cu::cuEventDestroy_v2>()(freed.event);
  }
  freed.event = nullptr;
  const CurrentContext current(context);
  CUevent event = nullptr;
  if (!current.set() || real<Cu::cuEventCreate>()(&event, kDisableTiming) != CUDA_SUCCESS) {
    return false;
  }
  freed.event = event;
  freed.event_context = context;
  freed.ended = ended;
  return true;
}

// From here on only the record refers to the block. Returns false if another thread freed it just
// now.
bool AsyncAllocator::takeBlock(CUdeviceptr address, DeferredFree& freed) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  if (!state.chunks.find(address, &place)) return false;
  SwapBlock& block = state.chunks.block(place.block);
  std::uint32_t bytes = 0;
  const bool piece = block.arena != 0;
  if (piece ? !Arenas::beginFree(block, address, &bytes)
            : !state.chunks.take(place.block, address)) {
    return false;
  }
  const std::uint64_t used = ArenaUnits::roomOf(piece ? bytes : block.requested);
  freed.pool.store(block.pool, std::memory_order_relaxed);
  freed.bytes.store(piece ? used : block.reserved, std::memory_order_relaxed);
  freed.is_piece.store(piece, std::memory_order_relaxed);
  freed.block = place.block;
  freed.address = address;
  if (block.pool != 0) state.pools.noteUsed(block.pool - 1, 0 - used);
  // A pinned block must not be reused.
  if (!piece && block.pins.load(std::memory_order_relaxed) != 0) {
    freed.pool.store(0, std::memory_order_relaxed);
  }
  return true;
}

HookOutcome AsyncAllocator::finish(CUdeviceptr address, DeferredFree* freed, bool recorded,
                                   CUresult* result) {
  if (freed != nullptr && recorded && takeBlock(address, *freed)) {
    listed_.fetch_add(1, std::memory_order_acq_rel);
    freed->stage.store(Stage::kWaiting, std::memory_order_release);
    *result = CUDA_SUCCESS;
    return HookOutcome::kDone;
  }
  if (freed != nullptr) freed_.give(freed->number);
  if (freed != nullptr && recorded) return HookOutcome::kNative;
  return runtime().swappable.release(address, result);
}

void AsyncAllocator::unlist(DeferredFree& freed) {
  freed.stage.store(Stage::kNone, std::memory_order_release);
  freed_.give(freed.number);
  listed_.fetch_sub(1, std::memory_order_acq_rel);
}

// Returns the memory of an idle block to the card or the arena.
void AsyncAllocator::drop(DeferredFree& freed) {
  Runtime& state = runtime();
  const std::uint32_t block = freed.block;
  if (freed.is_piece.load(std::memory_order_relaxed)) {
    Arenas::finishFree(state.chunks.block(block), freed.address);
  } else {
    state.swappable.abandon(block);
  }
  unlist(freed);
}

// Once the stream has reached the free: pieces and blocks without a living pool are freed; other
// blocks become idle in their pool.
void AsyncAllocator::settle(DeferredFree& freed) {
  if (!freed.claim(Stage::kWaiting)) return;
  if (real<Cu::cuEventQuery>()(freed.event) != CUDA_SUCCESS) {
    freed.stage.store(Stage::kWaiting, std::memory_order_release);
    return;
  }
  const std::uint32_t pool = freed.pool.load(std::memory_order_relaxed);
  if (freed.is_piece.load(std::memory_order_relaxed) || pool == 0 ||
      !runtime().pools.at(pool - 1).isAlive()) {
    drop(freed);
  } else {
    freed.stage.store(Stage::kIdle, std::memory_order_release);
  }
}

void AsyncAllocator::settle() {
  ContextGuard& use = runtime().context_use;
  if (!use.begin()) return;  // the context of the events is about to end
  {
    const RelaxedCapture relaxed;
    freed_.forEach([this](std::uint32_t, DeferredFree& freed) {
      if (freed.stage.load(std::memory_order_acquire) == Stage::kWaiting) settle(freed);
      return true;
    });
  }
  use.end();
}

// ---- pools -------------------------------------------------------------------------------------

std::uint64_t AsyncAllocator::trim(Pool& pool, std::uint64_t keep) {
  const std::uint32_t key = keyOf(pool);
  if (any()) settle();
  while (pool.reserved.now.load(std::memory_order_acquire) > keep) {
    DeferredFree* unused = claimOne(Stage::kIdle, [key](const DeferredFree& freed) {
      return freed.pool.load(std::memory_order_relaxed) == key;
    });
    if (unused == nullptr) break;
    drop(*unused);
  }
  return pool.reserved.now.load(std::memory_order_acquire);
}

void AsyncAllocator::afterWait() {
  settle();
  MempoolTracker& pools = runtime().pools;
  std::uint32_t asked = 0;
  std::uint64_t most = 0;  // size of that block
  freed_.forEach([&](std::uint32_t, DeferredFree& freed) {
    const std::uint32_t key = freed.pool.load(std::memory_order_relaxed);
    if (freed.stage.load(std::memory_order_acquire) != Stage::kIdle || key == 0) return true;
    Pool& pool = pools.at(key - 1);
    if (key != asked) {
      const std::uint64_t keep = MempoolTracker::ask(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
      const std::uint64_t other = MempoolTracker::ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
      most = keep > other ? keep - other : 0;
      asked = key;
    }
    if (pool.reserved.now.load(std::memory_order_acquire) > most && freed.claim(Stage::kIdle)) {
      drop(freed);
    }
    return true;
  });
}

bool AsyncAllocator::reclaim() {
  settle();
  freed_.forEach([this](std::uint32_t, DeferredFree& freed) {
    if (freed.stage.load(std::memory_order_acquire) == Stage::kIdle && freed.claim(Stage::kIdle)) {
      drop(freed);
    }
    return true;
  });
  return any();
}

// Events and streams of the context are dead, so memory that was freed there is unused.
void AsyncAllocator::contextEnded(unsigned device, CUcontext context, bool all) {
  if (any()) {
    freed_.forEach([&](std::uint32_t, DeferredFree& freed) {
      const Stage stage = freed.stage.load(std::memory_order_acquire);
      if (stage != Stage::kWaiting && stage != Stage::kIdle) return true;
      const bool gone = all && runtime().chunks.block(freed.block).device == device;
      const bool came = freed.context.load(std::memory_order_relaxed) == context;
      if ((gone || came) && freed.claim(stage)) drop(freed);
      return true;
    });
  }
  if (all) runtime().pools.forgetUsed(device);
}

void AsyncAllocator::forgetAfterFork() {
  freed_.forgetAfterFork();
  listed_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
