#include "swappable.h"

#include "capture.h"
#include "charge.h"
#include "current_context.h"
#include "pressure.h"
#include "runtime.h"
#include "sys.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kOwnBufferIds = std::uint64_t{1} << 63;  // none that the driver gives
constexpr std::uint64_t kMostArena = std::uint64_t{32} << 20;
constexpr std::uint64_t kFreePatience = 2'000'000'000;
constexpr long kFreeNap = 50'000;

bool isCaptureError(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

// Whether plain memory could be allocated or freed now, by the rules that the driver has for calls
// during captures; it also does to the captures what it would. A full card is no refusal.
CUresult askAboutCaptures(unsigned device) {
  constexpr std::size_t kBytes = 512;
  Charge charge(device, roundToGranule(device, kBytes), Kind::kSwappable);  // for a moment
  CUdeviceptr block = 0;
  if (!charge.granted()) return real<Cu::cuMemFree_v2>()(block);  // does nothing, by that rule
  const CUresult result = real<Cu::cuMemAlloc_v2>()(&block, kBytes);
  if (result == CUDA_SUCCESS && real<Cu::cuMemFree_v2>()(block) != CUDA_SUCCESS) charge.keep();
  return result;
}

CUresult synchroniseContext(CUcontext context) {
  const CurrentContext current(context);
  return current.set() ? real<Cu::cuCtxSynchronize>()() : CUDA_SUCCESS;
}

// A device's contexts but for one.
struct Others {
  unsigned device;
  CUcontext owner;
  unsigned count = 0;
  void (*visit)(CUcontext) = nullptr;  // null: they are counted

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

// Waits for the device's work in all contexts, of which `owner` is one: its result. The others may
// end at any time but while they are used.
CUresult synchroniseDevice(unsigned device, CUcontext owner) {
  const CUresult result = synchroniseContext(owner);
  if (result != CUDA_SUCCESS) return result;
  Others others{device, owner};
  others.meetAll();
  ContextUse& use = runtime().context_use;
  if (others.count == 0 || !use.begin()) return result;
  others.visit = [](CUcontext context) { synchroniseContext(context); };
  others.meetAll();
  use.end();
  return result;
}

// Saturating: what is more than there are addresses is refused by the account.
std::uint64_t roundTo(std::uint64_t granule, std::uint64_t bytes) {
  const std::uint64_t rounded = (bytes + granule - 1) & ~(granule - 1);
  return rounded < bytes ? UINT64_MAX & ~(granule - 1) : rounded;
}

struct Place {
  CUcontext context = nullptr;
  CUdevice ordinal = -1;
  bool known() {
    return real<Cu::cuCtxGetCurrent>()(&context) == CUDA_SUCCESS && context != nullptr &&
           real<Cu::cuCtxGetDevice>()(&ordinal) == CUDA_SUCCESS;
  }
};

}  // namespace

SwapAnswer Swappable::allocate(unsigned device, std::uint64_t bytes, Cu site, CUdeviceptr* out,
                               CUresult* result) {
  Runtime& state = runtime();
  Place place;
  if (out == nullptr || bytes == 0 || !place.known()) return SwapAnswer::kNative;
  const BackingTerms* terms = state.backing.terms(place.ordinal, device);
  if (terms == nullptr || !terms->usable || terms->ordinal != place.ordinal || !startSwapping()) {
    return SwapAnswer::kNative;
  }
  *result = allowedNow(device);
  if (*result != CUDA_SUCCESS) return SwapAnswer::kDone;
  if (bytes < terms->granule && bytes <= Pieces::kMostBytes) {
    const std::uint64_t most = terms->chunk_bytes < kMostArena ? terms->chunk_bytes : kMostArena;
    const CUdeviceptr piece = state.arenas.take({device, place.ordinal, place.context}, bytes,
                                                nextId(), terms->granule, most);
    if (piece == 0) return SwapAnswer::kNative;  // it may fit where an arena does not
    *out = piece;
    return SwapAnswer::kDone;
  }
  const std::uint64_t reserved = roundTo(terms->granule, bytes);
  const std::uint32_t number = obtain(
      {device, place.ordinal, place.context, bytes, reserved, terms->chunk_bytes, {}, 0, false},
      result);
  if (number == ChunkTable::kNone) return SwapAnswer::kDone;
  const CUdeviceptr address = state.chunks.block(number).address;
  if (!state.chunks.publish(number)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(site), bytes);
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    abandon(number);
    return SwapAnswer::kDone;
  }
  *out = address;
  return SwapAnswer::kDone;
}

// By the driver's rule for what may be allocated during captures.
CUresult Swappable::allowedNow(unsigned device) {
  if (!runtime().captures.open()) {
    collect();
    return CUDA_SUCCESS;
  }
  const CUresult result = askAboutCaptures(device);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : result;
}

std::uint64_t Swappable::nextId() {
  return kOwnBufferIds | (buffers_.fetch_add(1, std::memory_order_relaxed) + 1);
}

std::uint32_t Swappable::createArena(const ArenaOwner& owner, std::uint64_t bytes,
                                     std::uint32_t arena, bool spare) {
  CUresult result = CUDA_SUCCESS;
  return obtain({owner.device, owner.ordinal, owner.context, bytes, bytes, bytes, {}, arena, spare},
                &result);
}

std::uint32_t Swappable::create(unsigned device, CUdevice ordinal, std::uint64_t bytes,
                                const MadeAs& made_as, CUresult* result) {
  Runtime& state = runtime();
  *result = CUDA_SUCCESS;
  const BackingTerms* terms = state.backing.terms(ordinal, device);
  if (terms == nullptr || !terms->usable || terms->ordinal != ordinal || bytes == 0 ||
      bytes % terms->granule != 0 || !startSwapping()) {
    return ChunkTable::kNone;
  }
  if (!state.captures.open()) collect();
  // What can be exported is one handle.
  const std::uint64_t most = made_as.handle_types != 0 ? bytes : terms->chunk_bytes;
  return obtain({device, ordinal, nullptr, bytes, bytes, most, made_as, 0, false}, result);
}

// A block that is charged, with memory or without; kNone: *result says why not.
std::uint32_t Swappable::obtain(const Request& request, CUresult* result) {
  *result = CUDA_ERROR_OUT_OF_MEMORY;
  Charge charge(request.device, request.reserved, request.spare ? Kind::kSpare : Kind::kSwappable);
  if (!charge.granted()) {
    if (request.arena == 0) refuse();  // else something else is tried
    return ChunkTable::kNone;
  }
  // Counted from here on: what others ask for meanwhile has to fit beside it.
  Footprint footprint(request.device, request.reserved, !request.spare);
  const std::uint32_t number =
      footprint.granted() ? build(request, result) : std::uint32_t{ChunkTable::kNone};
  if (!footprint.granted() && request.arena == 0) refuse();
  if (number == ChunkTable::kNone) return number;
  charge.keep();  // from here on both are the chunks'
  footprint.keep();
  bool missing = false;
  *result = fill(number, &missing);
  if (*result != CUDA_SUCCESS) {
    abandon(number);
    return ChunkTable::kNone;
  }
  if (missing) runtime().memory_gate.shut();
  return number;
}

Chunk& Swappable::chunkAt(std::uint32_t number) {
  return runtime().chunks.chunk(number);
}

// Addresses, and chunks that all are the caller's (kComing) with nothing behind.
std::uint32_t Swappable::build(const Request& request, CUresult* result) {
  ChunkTable& chunks = runtime().chunks;
  *result = CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint32_t number = chunks.begin();
  if (number == ChunkTable::kNone) return number;
  SwapBlock& block = chunks.block(number);
  block.device = request.device;
  block.ordinal = static_cast<std::uint32_t>(request.ordinal);
  block.requested = request.bytes;
  block.reserved = request.reserved;
  block.owner = request.context;
  block.made_as = request.made_as;
  block.arena = request.arena;
  block.buffer_id = nextId();
  CUdeviceptr address = 0;
  {
    const RelaxedCapture relaxed;
    *result = real<Cu::cuMemAddressReserve>()(&address, request.reserved, 0, 0, 0);
  }
  if (*result != CUDA_SUCCESS) {
    chunks.end(number);
    return ChunkTable::kNone;
  }
  block.address = address;
  for (std::uint64_t done = 0; done < request.reserved;) {
    const std::uint64_t left = request.reserved - done;
    const std::uint64_t bytes = left < request.chunk_bytes ? left : request.chunk_bytes;
    if (chunks.addChunk(number, address + done, bytes, ChunkState::kComing) == ChunkTable::kNone) {
      unbuild(number);
      *result = CUDA_ERROR_OUT_OF_MEMORY;
      return ChunkTable::kNone;
    }
    done += bytes;
  }
  return number;
}

// The reverse, while all chunks are the caller's still; nothing was charged to them.
void Swappable::unbuild(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    const std::uint32_t next = chunk.next;
    chunk.advance<ChunkState::kComing, ChunkState::kBorn>();
    if (chunk.claimForFreeing(chunk.generation()) == ChunkState::kBorn) chunks.drop(at);
    at = next;
  }
  if (chunks.drop(block)) end(number);
}

// Memory behind a chunk of the caller's. *missing: there is no room for it now, or the card has
// less than was allowed.
CUresult Swappable::make(Chunk& chunk, bool* missing) {
  Runtime& state = runtime();
  const unsigned device = chunk.device.load(std::memory_order_relaxed);
  *missing = !state.swap_board.takeRoom(device, chunk.bytes);
  if (*missing) return CUDA_SUCCESS;
  const CUresult result = state.backing.map(chunk);
  if (result == CUDA_SUCCESS) return result;
  state.swap_board.giveRoom(device, chunk.bytes);
  *missing = result == CUDA_ERROR_OUT_OF_MEMORY;
  return *missing ? CUDA_SUCCESS : result;
}

// Memory behind every chunk; from the first on that gets none they are born without.
CUresult Swappable::fill(std::uint32_t number, bool* missing) {
  ChunkTable& chunks = runtime().chunks;
  CUresult result = CUDA_SUCCESS;
  for (std::uint32_t at = chunks.block(number).first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    const std::uint32_t own = at;
    at = chunk.next;  // before it is anybody's
    if (result == CUDA_SUCCESS && !*missing) result = make(chunk, missing);
    if (result == CUDA_SUCCESS && !*missing) {
      leave<ChunkState::kComing, ChunkState::kDevice>(own);
    } else {
      leave<ChunkState::kComing, ChunkState::kBorn>(own);
    }
  }
  return result;
}

// What cuMemFree does first: nothing uses the block any more, or a capture says whether that may be
// waited for.
CUresult Swappable::endWork(const SwapBlock& block, bool capturing) {
  if (capturing) return askAboutCaptures(block.device);
  if (runtime().memory_gate.closed()) return CUDA_SUCCESS;  // all work has ended
  return synchroniseDevice(block.device, block.owner);
}

SwapAnswer Swappable::release(CUdeviceptr address, CUresult* result) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  CUcontext current = nullptr;
  if (!state.chunks.any() || !state.chunks.find(address, &place)) return SwapAnswer::kNative;
  const SwapBlock& block = state.chunks.block(place.block);
  Arenas::Found piece;
  const bool begins = block.arena == 0
                          ? block.address == address
                          : Arenas::find(block, address, &piece) && piece.address == address;
  if (!begins || real<Cu::cuCtxGetCurrent>()(&current) != CUDA_SUCCESS || current == nullptr) {
    return SwapAnswer::kNative;  // whose answer is an error
  }
  const bool capturing = state.captures.open();
  *result = endWork(block, capturing);
  if (capturing && *result == CUDA_ERROR_OUT_OF_MEMORY) *result = CUDA_SUCCESS;
  const bool deferred = capturing || isCaptureError(*result);
  if (*result != CUDA_SUCCESS && (capturing || !deferred)) return SwapAnswer::kDone;
  if (block.arena != 0) {
    if (!freePiece(block, address, deferred)) return SwapAnswer::kNative;
    *result = CUDA_SUCCESS;
    return SwapAnswer::kDone;
  }
  const std::uint32_t number = state.chunks.take(address);
  if (number == ChunkTable::kNone) return SwapAnswer::kNative;  // somebody else freed it just now
  *result = CUDA_SUCCESS;
  if (deferred) {
    doom(number);
    deferred_.fetch_add(1, std::memory_order_release);
  } else {
    abandon(number);
    collect();
  }
  return SwapAnswer::kDone;
}

// False: somebody else freed it just now.
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

// Every chunk is freed from here on, by whoever next has it in his hands. Ends the owner's
// reference.
void Swappable::doom(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    at = chunk.next;  // before it is freed
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
  // There may be room now for what is missing, or nothing missing any more.
  if (!runtime().memory_gate.isOpen()) runtime().movers.wake();
}

void Swappable::undo(std::uint32_t number, std::uint32_t generation) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  const ChunkState was = chunk.claimForFreeing(generation);
  if (was == ChunkState::kFree) return;
  const unsigned device = chunk.device.load(std::memory_order_relaxed);
  const std::uint32_t block = chunk.block.load(std::memory_order_relaxed);
  const std::uint64_t bytes = chunk.bytes;
  // One whose contents could not be brought back may still be mapped.
  const bool mapped = isMapped(was) || chunk.handle != 0;
  if (mapped && state.backing.unmap(chunk) != CUDA_SUCCESS) {
    // It is the driver's now, and stays charged.
    freed_.fetch_sub(1, std::memory_order_seq_cst);
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemUnmap), bytes);
    return;
  }
  if (was == ChunkState::kOut) state.host_store.give(chunk.host);
  const bool last = state.chunks.drop(number);
  if (was != ChunkState::kPinned) {
    state.swap_board.addSwappable(device, -static_cast<std::int64_t>(bytes));
    if (mapped) state.swap_board.giveRoom(device, bytes);
  }
  state.tenant.account().release(device, bytes);
  freed_.fetch_sub(1, std::memory_order_seq_cst);
  if (was == ChunkState::kPinned) state.swap_board.showPinned(device);
  if (last) end(block);
}

// Nobody refers to it any more.
void Swappable::end(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  const SwapBlock& block = chunks.block(number);
  {
    const RelaxedCapture relaxed;
    real<Cu::cuMemAddressFree>()(block.address, block.reserved);
  }
  chunks.end(number);
}

// No wait for work frees what was doomed after it began.
void Swappable::collectDeferred() {
  Runtime& state = runtime();
  if (state.captures.open() || collecting_.exchange(true, std::memory_order_acquire)) return;
  // Whoever defers from here on counts anew.
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

// False: not all of it.
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
  for (const std::uint64_t until = sys::now() + kFreePatience; sys::now() < until;) {
    collect();
    if (freed_.load(std::memory_order_seq_cst) == 0) break;
    // Not to be collected now; what others had in their hands may be free all the same.
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
  state.chunks.forEachBlock([&](std::uint32_t number, SwapBlock& block) {
    if (block.device != device || !(all || (context != nullptr && block.owner == context))) return;
    if (block.arena != 0 && !Arenas::close(block)) return;
    if (state.chunks.take(number, block.address)) abandon(number);
  });
  // What was freed during a capture of that context.
  collect();
}

void Swappable::forgetAfterFork() {
  deferred_.store(0, std::memory_order_relaxed);
  collecting_.store(false, std::memory_order_relaxed);
  freed_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
