#include "allocator/vmm_proxy_handles.h"

#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kWithoutTag = (std::uint64_t{1} << 48) - 1;

// Memory that is flagged for other kinds of devices is used by them without the driver, if the
// machine has such devices.
bool othersReachMemory() {
  static constexpr const char* kPaths[] = {"/dev/infiniband", "/dev/gdrdrv", "/dev/nvidia-fs0"};
  const ErrnoKeeper keeper;
  for (const char* path : kPaths) {
    struct stat status;
    if (sys::pathStatus(path, &status)) return true;
  }
  return false;
}

// Returns true if chunks can replace such memory. Otherwise *why has the reason, or the driver will
// refuse it.
bool canBeChunks(const CUmemAllocationProp& prop, PinReason* why) {
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    *why = PinReason::kManaged;
  } else if ((types & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != 0) {
    *why = PinReason::kExported;
  } else if (prop.allocFlags.usage != 0) {
    *why = PinReason::kSparseArray;
  } else if (prop.allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_NONE) {
    *why = PinReason::kDriver;
  } else if (prop.allocFlags.gpuDirectRDMACapable != 0 && othersReachMemory()) {
    *why = PinReason::kForeignUse;
  } else {
    return true;
  }
  return false;
}

SwapBlock& blockOf(std::uint32_t number) {
  return runtime().chunks.block(number);
}

// The number of the token's SwapBlock, if the application has the token.
bool blockOfToken(CUmemGenericAllocationHandle token, std::uint32_t* block) {
  const std::uint32_t physical = runtime().vmm.find(token);
  if (physical == VmmHandles::kNone) return false;
  *block = runtime().vmm.at(physical).swap - 1;
  return true;
}

// Calls visit(number, chunk, offset) for the chunks of a block's first `bytes` until it returns
// false.
template <typename Visit>
void forEachChunk(const SwapBlock& block, std::uint64_t bytes, Visit visit) {
  ChunkTable& chunks = runtime().chunks;
  for (std::uint32_t at = block.first; at != ChunkTable::kNone; at = chunks.chunk(at).next) {
    const std::uint64_t offset = chunks.chunk(at).address - block.address;
    if (offset >= bytes || !visit(at, chunks.chunk(at), offset)) return;
  }
}

std::uint64_t partOf(const Chunk& chunk, std::uint64_t offset, std::uint64_t bytes) {
  return bytes - offset < chunk.bytes ? bytes - offset : chunk.bytes;
}

// Returns true if the driver has a mapping there that is not ours. Must be called where the driver
// would not detect that itself.
bool isTaken(CUdeviceptr address, std::uint64_t bytes, int device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  const std::uint64_t step = runtime().chunks.granule();
  for (std::uint64_t at = 0; at < bytes; at += step) {
    unsigned long long flags = 0;
    if (real<Cu::cuMemGetAccess>()(&flags, &location, address + at) == CUDA_SUCCESS) return true;
  }
  return false;
}

CUresult checkDesc(const SwapBlock& block, const CUmemAccessDesc& desc) {
  if (desc.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && desc.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      desc.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (desc.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const auto home = static_cast<int>(block.ordinal);
  if (desc.location.id == home) return CUDA_SUCCESS;
  int reaches = 0;
  const bool known =
      desc.location.id >= 0 && static_cast<unsigned>(desc.location.id) < BackingTerms::kMaxAccess &&
      real<Cu::cuDeviceCanAccessPeer>()(&reaches, desc.location.id, home) == CUDA_SUCCESS;
  return known && reaches != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// Like the driver: of several accesses for one device the last one applies.
void tell(AppMapping& view, const CUmemAccessDesc* descs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    view.access[descs[i].location.id].store(
        static_cast<std::uint8_t>(AppMapping::kTold | static_cast<unsigned>(descs[i].flags)),
        std::memory_order_seq_cst);
  }
}

}  // namespace

// ---- pieces of a range -------------------------------------------------------------------------

struct VmmProxyHandles::Piece {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t view;  // Views::kNone: not ours
};

bool VmmProxyHandles::touches(std::uint64_t address, std::uint64_t bytes) const {
  const ChunkTable& chunks = runtime().chunks;
  const std::uint64_t step = chunks.granule();
  // The driver refuses more than any device has.
  if (!any() || step == 0 || bytes > std::uint64_t{1} << 44) return false;
  for (std::uint64_t at = address; at - address < bytes; at = (at & ~(step - 1)) + step) {
    ChunkTable::Place place;
    if (chunks.find(at, &place) && blockOf(place.block).isHandles()) return true;
  }
  return false;
}

std::uint32_t VmmProxyHandles::viewAt(std::uint64_t address) const {
  ChunkTable::Place place;
  if (!any() || !runtime().chunks.find(address, &place) || !blockOf(place.block).isHandles()) {
    return AppMappings::kNone;
  }
  return runtime().views.find(place.block, address);
}

// Finds the mapping that begins at `at`, up to `end` at most. Returns false for a part of a view.
bool VmmProxyHandles::pieceAt(std::uint64_t at, std::uint64_t end, Piece* out) const {
  const std::uint64_t step = runtime().chunks.granule();
  *out = {at, 0, viewAt(at)};
  if (out->view != AppMappings::kNone) {
    const AppMapping& view = runtime().views.at(out->view);
    out->bytes = view.bytes;
    return view.address == at && out->bytes <= end - at && out->bytes != 0;
  }
  std::uint64_t next = (at & ~(step - 1)) + step;
  while (next < end && viewAt(next) == AppMappings::kNone) next += step;
  out->bytes = (next < end ? next : end) - at;
  return true;
}

template <typename Visit>
CUresult VmmProxyHandles::forEachPiece(std::uint64_t address, std::uint64_t bytes,
                                       Visit visit) const {
  const std::uint64_t end = address + bytes;
  Piece piece;
  for (std::uint64_t at = address; at < end; at += piece.bytes) {
    if (!pieceAt(at, end, &piece)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = visit(piece);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// ---- handles -----------------------------------------------------------------------------------

HookOutcome VmmProxyHandles::create(unsigned device, std::uint64_t bytes,
                                    const CUmemAllocationProp& prop,
                                    CUmemGenericAllocationHandle* handle, PinReason* why,
                                    CUresult* result) {
  *why = PinReason::kDriver;
  if (!canBeChunks(prop, why)) return HookOutcome::kNative;
  const HandleAttributes made_as{true, 0, static_cast<std::uint32_t>(prop.requestedHandleTypes),
                                 prop.allocFlags.gpuDirectRDMACapable != 0};
  Runtime& state = runtime();
  const std::uint32_t number =
      state.swappable.create(device, prop.location.id, bytes, made_as, result);
  if (number == ChunkTable::kNone) {
    return *result == CUDA_SUCCESS ? HookOutcome::kNative : HookOutcome::kDone;
  }
  const std::uint64_t token = state.vmm.enterSwappable(number, device, bytes);
  if (token == 0) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemCreate), bytes);
    state.swappable.abandon(number);
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    return HookOutcome::kDone;
  }
  blockOf(number).made_as.physical = VmmHandles::numberOfToken(token) + 1;
  any_.store(true, std::memory_order_release);
  *handle = token;
  return HookOutcome::kDone;
}

CUresult VmmProxyHandles::properties(CUmemGenericAllocationHandle token,
                                     CUmemAllocationProp* prop) {
  std::uint32_t number = 0;
  if (prop == nullptr || !blockOfToken(token, &number)) return CUDA_ERROR_INVALID_VALUE;
  const SwapBlock& block = blockOf(number);
  CUmemAllocationProp made{};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(block.made_as.handle_types);
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made.location.id = static_cast<int>(block.ordinal);
  made.allocFlags.gpuDirectRDMACapable = block.made_as.rdma ? 1 : 0;
  *prop = made;
  return CUDA_SUCCESS;
}

CUmemGenericAllocationHandle VmmProxyHandles::retain(std::uint32_t view) {
  const SwapBlock& block = blockOf(runtime().views.at(view).block);
  return runtime().vmm.retainToken(block.made_as.physical - 1);
}

CUresult VmmProxyHandles::expose(CUmemGenericAllocationHandle token, PinReason reason,
                                 CUmemGenericAllocationHandle* handle) {
  *handle = 0;
  std::uint32_t number = 0;
  if (!blockOfToken(token, &number)) return CUDA_ERROR_INVALID_VALUE;
  const SwapBlock& block = blockOf(number);
  if (block.count != 1) return CUDA_ERROR_NOT_SUPPORTED;  // it consists of several driver handles
  const CUresult pinned = runtime().swappable.pin(number, reason);
  if (pinned == CUDA_SUCCESS) *handle = runtime().chunks.chunk(block.first).handle;
  return pinned;
}

CUresult VmmProxyHandles::exportTo(void* out, CUmemGenericAllocationHandle token,
                                   CUmemAllocationHandleType type, unsigned long long flags) {
  std::uint32_t number = 0;
  if (out == nullptr || flags != 0 || !blockOfToken(token, &number) ||
      (blockOf(number).made_as.handle_types & static_cast<unsigned>(type)) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = expose(token, PinReason::kExported, &handle);
  if (result == CUDA_SUCCESS) {
    result = real<Cu::cuMemExportToShareableHandle>()(out, handle, type, flags);
  }
  if (result != CUDA_SUCCESS) return result;
  Block known;
  exported_.take(handle, &known);
  exported_.insert(handle, {token & kWithoutTag, 0, BlockKind::kOther});
  return result;
}

CUmemGenericAllocationHandle VmmProxyHandles::imported(CUmemGenericAllocationHandle handle) {
  Block known;
  if (!any() || !exported_.find(handle, &known)) return 0;
  VmmHandles& book = runtime().vmm;
  const std::uint32_t physical = VmmHandles::numberOfToken(known.bytes);
  // The record may be of other memory by now, and the driver's handle as well.
  if ((book.at(physical).token & kWithoutTag) != known.bytes) return 0;
  return book.retainToken(physical);
}

// ---- mappings ----------------------------------------------------------------------------------

CUresult VmmProxyHandles::map(CUdeviceptr address, std::uint64_t bytes,
                              CUmemGenericAllocationHandle token) {
  Runtime& state = runtime();
  const std::uint32_t physical = state.vmm.beginMap(token);
  if (physical == VmmHandles::kNone) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = mapBlock(state.vmm.at(physical).swap - 1, address, bytes);
  if (result != CUDA_SUCCESS) state.vmm.drop(physical);  // otherwise the view owns it
  return result;
}

CUresult VmmProxyHandles::mapBlock(std::uint32_t number, CUdeviceptr address, std::uint64_t bytes) {
  Runtime& state = runtime();
  const SwapBlock& block = blockOf(number);
  const std::uint64_t granule = state.chunks.granule();
  std::uint64_t begin = 0, held = 0;
  if (bytes == 0 || bytes > block.requested || (address | bytes) % granule != 0 ||
      !reservationOf(address, &begin, &held) || bytes > held - (address - begin) ||
      touches(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!state.memory_gate.isOpen() && isTaken(address, bytes, static_cast<int>(block.ordinal))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint32_t view = state.views.begin(number, address, bytes);
  if (view == AppMappings::kNone) return CUDA_ERROR_OUT_OF_MEMORY;
  std::uint64_t entered = 0;
  forEachChunk(block, bytes, [&](std::uint32_t at, const Chunk& chunk, std::uint64_t offset) {
    const std::uint64_t part = partOf(chunk, offset, bytes);
    if (!state.chunks.enterPages(at, address + offset, part)) return false;
    entered = offset + part;
    return true;
  });
  if (entered == bytes) return show(view);
  state.chunks.leavePages(address, entered);
  state.views.end(view);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// Maps the view, or ends it. Without a slot for it, the driver maps it from memory that is pinned.
CUresult VmmProxyHandles::show(std::uint32_t number) {
  Runtime& state = runtime();
  AppMapping& view = state.views.at(number);
  if (state.views.publish(number)) {
    const CUresult result = state.swappable.settle(view.block, view.bytes, false);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return CUDA_SUCCESS;
    view.going.store(1, std::memory_order_seq_cst);
    // A view that is still mapped somewhere stays registered for good.
    if (state.swappable.settle(view.block, view.bytes, false) == CUDA_SUCCESS) forget(number);
    return result;
  }
  CUresult result = state.swappable.pin(view.block, PinReason::kAliased);
  std::uint64_t mapped = 0;
  forEachChunk(blockOf(view.block), view.bytes,
               [&](std::uint32_t, const Chunk& chunk, std::uint64_t offset) {
                 if (result != CUDA_SUCCESS) return false;
                 const std::uint64_t part = partOf(chunk, offset, view.bytes);
                 result = real<Cu::cuMemMap>()(view.address + offset, part, 0, chunk.handle, 0);
                 if (result == CUDA_SUCCESS) mapped = offset + part;
                 return result == CUDA_SUCCESS;
               });
  if (result == CUDA_SUCCESS) return result;
  if (mapped != 0) real<Cu::cuMemUnmap>()(view.address, mapped);
  forget(number);
  return result;
}

// Requires a view that is being removed and is mapped nowhere. Its record may be reused only when
// no thread that maps memory can still hold a reference through the block.
void VmmProxyHandles::forget(std::uint32_t number) {
  Runtime& state = runtime();
  const AppMapping& view = state.views.at(number);
  state.chunks.leavePages(view.address, view.bytes);
  state.views.withdraw(number);
  if (Swappable::awaitIdle(view.block, view.bytes)) {
    state.views.end(number);
  } else {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemUnmap), view.bytes);
  }
}

// The reverse of map(). If several threads call it for a view, exactly one succeeds.
CUresult VmmProxyHandles::hide(std::uint32_t number) {
  Runtime& state = runtime();
  AppMapping& view = state.views.at(number);
  std::uint32_t here = 0;
  if (!view.going.compare_exchange_strong(here, 1, std::memory_order_seq_cst)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = view.slot < kMaxViews
                              ? state.swappable.settle(view.block, view.bytes, false)
                              : real<Cu::cuMemUnmap>()(view.address, view.bytes);
  if (result != CUDA_SUCCESS) {
    view.going.store(0, std::memory_order_seq_cst);
    if (view.slot < kMaxViews) state.swappable.settle(view.block, view.bytes, false);
    return result;
  }
  const std::uint32_t physical = blockOf(view.block).made_as.physical - 1;
  forget(number);
  state.vmm.drop(physical);
  return result;
}

CUresult VmmProxyHandles::unmap(CUdeviceptr address, std::uint64_t bytes) {
  Runtime& state = runtime();
  CUresult result = forEachPiece(address, bytes, [](const Piece&) { return CUDA_SUCCESS; });
  if (result != CUDA_SUCCESS) return result;
  // The driver's mappings first, because only the driver knows whether it accepts the call.
  result = forEachPiece(address, bytes, [&](const Piece& piece) {
    if (piece.view != AppMappings::kNone) return CUDA_SUCCESS;
    const std::uint32_t chain = state.vmm.beginUnmap(piece.address, piece.bytes);
    const CUresult unmapped = real<Cu::cuMemUnmap>()(piece.address, piece.bytes);
    state.vmm.endUnmap(chain, unmapped == CUDA_SUCCESS);
    return unmapped;
  });
  if (result != CUDA_SUCCESS) return result;
  return forEachPiece(address, bytes, [](const Piece& piece) {
    return piece.view == AppMappings::kNone ? CUDA_SUCCESS : hide(piece.view);
  });
}

// ---- access ------------------------------------------------------------------------------------

CUresult VmmProxyHandles::setAccess(CUdeviceptr address, std::uint64_t bytes,
                                    const CUmemAccessDesc* descs, std::size_t count) {
  if (descs == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = forEachPiece(address, bytes, [](const Piece&) { return CUDA_SUCCESS; });
  if (result != CUDA_SUCCESS) return result;
  result = forEachPiece(address, bytes, [&](const Piece& piece) {
    if (piece.view == AppMappings::kNone) {
      return real<Cu::cuMemSetAccess>()(piece.address, piece.bytes, descs, count);
    }
    CUresult fine = CUDA_SUCCESS;
    for (std::size_t i = 0; i < count && fine == CUDA_SUCCESS; ++i) {
      fine = checkDesc(blockOf(runtime().views.at(piece.view).block), descs[i]);
    }
    return fine;
  });
  if (result != CUDA_SUCCESS) return result;
  return forEachPiece(address, bytes, [&](const Piece& piece) {
    return piece.view == AppMappings::kNone ? CUDA_SUCCESS : open(piece.view, descs, count);
  });
}

CUresult VmmProxyHandles::open(std::uint32_t number, const CUmemAccessDesc* descs,
                               std::size_t count) {
  AppMapping& view = runtime().views.at(number);
  std::uint8_t before[BackingTerms::kMaxAccess];
  for (unsigned i = 0; i < BackingTerms::kMaxAccess; ++i) {
    before[i] = view.access[i].load(std::memory_order_relaxed);
  }
  tell(view, descs, count);
  const CUresult result = view.slot < kMaxViews
                              ? runtime().swappable.settle(view.block, view.bytes, true)
                              : real<Cu::cuMemSetAccess>()(view.address, view.bytes, descs, count);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return CUDA_SUCCESS;
  for (unsigned i = 0; i < BackingTerms::kMaxAccess; ++i) {
    view.access[i].store(before[i], std::memory_order_relaxed);
  }
  return result;
}

CUresult VmmProxyHandles::getAccess(std::uint32_t view, const CUmemLocation& location,
                                    unsigned long long* flags) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST ||
      location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
    *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  CUdevice device = -1;
  if (location.id < 0 || static_cast<unsigned>(location.id) >= BackingTerms::kMaxAccess ||
      real<Cu::cuDeviceGet>()(&device, location.id) != CUDA_SUCCESS) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const AppMapping& known = runtime().views.at(view);
  *flags = known.access[location.id].load(std::memory_order_seq_cst) & ~unsigned{AppMapping::kTold};
  return CUDA_SUCCESS;
}

// ---- addresses ---------------------------------------------------------------------------------

void VmmProxyHandles::reserved(std::uint64_t address, std::uint64_t bytes) {
  const std::uint32_t number = reservations_.take();
  if (number == Slab<Reservation>::kNone) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemAddressReserve), bytes);
    return;
  }
  Reservation& fresh = reservations_.at(number);
  fresh.address = address;
  __atomic_store_n(&fresh.bytes, bytes, __ATOMIC_RELEASE);
}

std::uint64_t VmmProxyHandles::unreserved(std::uint64_t address) {
  std::uint64_t bytes = 0;
  reservations_.forEach([&](std::uint32_t number, Reservation& known) {
    if (known.address != address) return true;
    bytes = __atomic_exchange_n(&known.bytes, 0, __ATOMIC_ACQ_REL);
    if (bytes != 0) reservations_.give(number);
    return bytes == 0;
  });
  return bytes;
}

bool VmmProxyHandles::reservationOf(std::uint64_t address, std::uint64_t* begin,
                                    std::uint64_t* bytes) {
  bool found = false;
  reservations_.forEach([&](std::uint32_t, const Reservation& known) {
    const std::uint64_t whole = __atomic_load_n(&known.bytes, __ATOMIC_ACQUIRE);
    if (address < known.address || address - known.address >= whole) return true;
    *begin = known.address;
    *bytes = whole;
    found = true;
    return false;
  });
  return found;
}

void VmmProxyHandles::forgetAfterFork() {
  any_.store(false, std::memory_order_relaxed);
  reservations_.forgetAfterFork();
  exported_.forgetAfterFork();
}

}  // namespace divvy::interposer
