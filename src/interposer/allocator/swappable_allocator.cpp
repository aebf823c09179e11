#include "allocator/swappable_allocator.h"

#include "accounting/charge.h"
#include "cuda/capture_scope.h"
#include "paging/memory_pressure.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// the driver uses none of these IDs
constexpr std::uint64_t kOwnBufferIds = std::uint64_t{1} << 63;

// Saturates: the account refuses more bytes than there are addresses.
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

HookOutcome Swappable::allocate(unsigned device, std::uint64_t bytes, Cu site, CUdeviceptr* out,
                                CUresult* result) {
  Runtime& state = runtime();
  Place place;
  if (out == nullptr || bytes == 0 || !place.known()) return HookOutcome::kNative;
  const BackingTerms* terms = state.backing.terms(place.ordinal, device);
  if (terms == nullptr || !terms->usable || terms->ordinal != place.ordinal || !startSwapping()) {
    return HookOutcome::kNative;
  }
  *result = allowedNow(device);
  if (*result != CUDA_SUCCESS) return HookOutcome::kDone;
  if (bytes < terms->granule && bytes <= ArenaUnits::kMaxBytes) {
    const CUdeviceptr piece = state.arenas.take({device, place.ordinal, place.context, 0}, bytes,
                                                nextId(), terms->granule, mostArena(*terms));
    if (piece == 0) return HookOutcome::kNative;  // it may fit where an arena does not
    *out = piece;
    return HookOutcome::kDone;
  }
  const std::uint64_t reserved = roundTo(terms->granule, bytes);
  const std::uint32_t number = obtain(
      {device, place.ordinal, place.context, bytes, reserved, terms->chunk_bytes, {}, 0, 0, false},
      result);
  if (number == ChunkTable::kNone) return HookOutcome::kDone;
  const CUdeviceptr address = state.chunks.block(number).address;
  if (!state.chunks.publish(number)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(site), bytes);
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    abandon(number);
    return HookOutcome::kDone;
  }
  *out = address;
  return HookOutcome::kDone;
}

// Asks the driver whether plain memory could be allocated or freed now, by its rules during
// captures. The question has the same effects on the captures. A full card is not a refusal.
CUresult Swappable::askAboutCaptures(unsigned device) {
  constexpr std::size_t kBytes = 512;
  // only for the duration of the question
  Charge charge(device, roundToGranule(device, kBytes), Kind::kSwappable);
  CUdeviceptr block = 0;
  if (!charge.granted()) return real<Cu::cuMemFree_v2>()(block);  // does nothing, by that rule
  const CUresult result = real<Cu::cuMemAlloc_v2>()(&block, kBytes);
  if (result == CUDA_SUCCESS && real<Cu::cuMemFree_v2>()(block) != CUDA_SUCCESS) charge.keep();
  return result;
}

// Applies the driver's rule for allocations during captures.
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
  return obtain({owner.device,
                 owner.ordinal,
                 owner.context,
                 bytes,
                 bytes,
                 bytes,
                 {},
                 arena,
                 owner.pool,
                 spare},
                &result);
}

std::uint32_t Swappable::createPooled(const Pool& pool, std::uint64_t bytes, CUresult* result) {
  const BackingTerms* terms = runtime().backing.terms(pool.ordinal, pool.device);
  const auto index = static_cast<std::uint32_t>(runtime().pools.indexOf(&pool));
  const std::uint64_t reserved = roundTo(terms->granule, bytes);
  return obtain({pool.device,
                 pool.ordinal,
                 nullptr,
                 bytes,
                 reserved,
                 terms->chunk_bytes,
                 {},
                 0,
                 index + 1,
                 false},
                result);
}

std::uint32_t Swappable::create(unsigned device, CUdevice ordinal, std::uint64_t bytes,
                                const HandleAttributes& made_as, CUresult* result) {
  Runtime& state = runtime();
  *result = CUDA_SUCCESS;
  const BackingTerms* terms = state.backing.terms(ordinal, device);
  if (terms == nullptr || !terms->usable || terms->ordinal != ordinal || bytes == 0 ||
      bytes % terms->granule != 0 || !startSwapping()) {
    return ChunkTable::kNone;
  }
  if (!state.captures.open()) collect();
  // Exportable memory must be a single handle.
  const std::uint64_t most = made_as.handle_types != 0 ? bytes : terms->chunk_bytes;
  return obtain({device, ordinal, nullptr, bytes, bytes, most, made_as, 0, 0, false}, result);
}

// Returns a block that is charged, with memory or without. kNone: *result has the reason.
std::uint32_t Swappable::obtain(const Request& request, CUresult* result) {
  *result = CUDA_ERROR_OUT_OF_MEMORY;
  Charge charge(request.device, request.reserved, request.spare ? Kind::kSpare : Kind::kSwappable);
  if (!charge.granted()) {
    // Otherwise the caller tries something else.
    if (request.arena == 0) refuseOverLimit(request.reserved);
    return ChunkTable::kNone;
  }
  // Counted from here on, so that concurrent requests are checked with it.
  SwappableReservation footprint(request.device, request.reserved, !request.spare);
  const std::uint32_t number =
      footprint.granted() ? build(request, result) : std::uint32_t{ChunkTable::kNone};
  if (!footprint.granted() && request.arena == 0)
    refuse(RefusalCause::kDeviceFull, request.reserved);
  if (number == ChunkTable::kNone) return number;
  charge.keep();  // from here on the chunks own both
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

// Reserves addresses and makes chunks, all in the caller's state kSwappingIn and without memory.
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
  block.pool = request.pool;
  if (block.pool != 0) runtime().pools.noteReserved(block.pool - 1, request.reserved, 1);
  const std::uint64_t now = runtime().last_use.next();
  for (std::uint64_t done = 0; done < request.reserved;) {
    const std::uint64_t left = request.reserved - done;
    const std::uint64_t bytes = left < request.chunk_bytes ? left : request.chunk_bytes;
    const std::uint32_t added =
        chunks.addChunk(number, address + done, bytes, ChunkState::kSwappingIn);
    if (added == ChunkTable::kNone) {
      unbuild(number);
      *result = CUDA_ERROR_OUT_OF_MEMORY;
      return ChunkTable::kNone;
    }
    chunks.chunk(added).last_use.store(now, std::memory_order_relaxed);
    done += bytes;
  }
  return number;
}

// The reverse of build(), while all chunks are still in the caller's state. Nothing is charged to
// them.
void Swappable::unbuild(std::uint32_t number) {
  ChunkTable& chunks = runtime().chunks;
  SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    const std::uint32_t next = chunk.next;
    chunk.advance<ChunkState::kSwappingIn, ChunkState::kReserved>();
    if (chunk.claimForFreeing(chunk.generation()) == ChunkState::kReserved) chunks.drop(at);
    at = next;
  }
  if (chunks.drop(block)) end(number);
}

// Maps memory for a chunk that the caller owns. *missing: there is no room for it now, or the card
// has less than was allowed.
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

// Maps memory for every chunk. From the first failure on, the remaining chunks get none.
CUresult Swappable::fill(std::uint32_t number, bool* missing) {
  ChunkTable& chunks = runtime().chunks;
  CUresult result = CUDA_SUCCESS;
  for (std::uint32_t at = chunks.block(number).first; at != ChunkTable::kNone;) {
    Chunk& chunk = chunks.chunk(at);
    const std::uint32_t own = at;
    at = chunk.next;  // must precede releasing the chunk
    if (result == CUDA_SUCCESS && !*missing) result = make(chunk, missing);
    if (result == CUDA_SUCCESS && !*missing) {
      leave<ChunkState::kSwappingIn, ChunkState::kDevice>(own);
    } else {
      leave<ChunkState::kSwappingIn, ChunkState::kReserved>(own);
    }
  }
  return result;
}

}  // namespace divvy::interposer
