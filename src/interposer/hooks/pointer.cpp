// Attributes of addresses. For swappable memory our records give the answers that the driver has
// for plain memory. The driver's own answers would describe our chunks, and change.
#include "accounting/allocation.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// The memory at an address: a block of ours, a view of one that the application mapped, or a block
// of another process.
struct Memory {
  SwapBlock* block = nullptr;  // null: the answer is the driver's
  const AppMapping* view = nullptr;
  std::uint32_t number = ChunkTable::kNone;  // of the block, if it is this process's
  bool unused = false;       // not memory of the application, but the driver knows the address
  Arenas::Found piece = {};  // of a block that is an arena

  explicit operator bool() const { return block != nullptr; }
  bool small() const { return block->arena != 0; }
  std::uint64_t base() const {
    if (view != nullptr) return view->address;
    return small() ? piece.address : block->address;
  }
  std::uint64_t bytes() const {
    if (view != nullptr) return view->bytes.load();
    return small() ? piece.piece.bytes : block->requested;
  }
  std::uint64_t id() const { return small() ? piece.piece.id : block->buffer_id; }
  bool syncMemops() const {
    return small() ? piece.piece.sync_memops
                   : block->sync_memops.load(std::memory_order_relaxed) != 0;
  }
  // The address for the query to the driver.
  CUdeviceptr orNowhere(CUdeviceptr address) const { return unused ? kNowhere : address; }

 private:
  static constexpr CUdeviceptr kNowhere = 1;  // never a valid address
};

// Returns no block if none of ours is at the address, or if the application has no memory there.
// Then the driver answers, or refuses.
Memory memoryAt(CUdeviceptr address) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  CUcontext context = nullptr;
  const bool here = state.chunks.any() && state.chunks.find(address, &place);
  SwapBlock* const imported = here ? nullptr : state.ipc_imports.find(address);
  if ((!here && imported == nullptr) || real<Cu::cuCtxGetCurrent>()(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    return {};
  }
  if (imported != nullptr) {
    Memory memory;
    memory.block = imported;
    return memory;
  }
  SwapBlock& block = state.chunks.block(place.block);
  if (block.arena != 0) {
    Memory memory{&block, nullptr, place.block};
    memory.unused = !Arenas::find(block, address, &memory.piece);
    if (memory.unused) memory.block = nullptr;
    return memory;
  }
  if (!block.isHandles()) return {&block, nullptr, place.block};
  const std::uint32_t view = state.views.find(place.block, address);
  if (view == AppMappings::kNone) return {};
  return {&block, &state.views.at(view), place.block};
}

// A value, and the size of the attribute's type; 0: the driver answers.
struct Answer {
  std::uint64_t value;
  unsigned bytes;
  CUresult result = CUDA_SUCCESS;

  void store(void* data) const { __builtin_memcpy(data, &value, bytes); }
};

constexpr unsigned kWord = 4;  // booleans too
constexpr unsigned kLong = 8;

// Properties of such memory on its device. Null: memory of another process on a device that is not
// the tenant's.
const BackingTerms* termsOf(const Memory& memory) {
  if (memory.block->device >= divvy::ledger::kMaxDevices) return nullptr;
  return runtime().backing.terms(static_cast<CUdevice>(memory.block->ordinal),
                                 memory.block->device);
}

// Whether other processes can open it through a legacy handle.
std::uint64_t hasLegacyIpc(const Memory& memory) {
  const BackingTerms* terms =
      memory.number == ChunkTable::kNone || memory.view != nullptr || memory.block->pool != 0
          ? nullptr
          : termsOf(memory);
  return terms != nullptr && terms->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE ? 1 : 0;
}

// Chunks are accessible to all devices of the tenant, views to those that the application set.
std::uint64_t accessFlags(const Memory& memory) {
  CUdevice current = -1;
  const BackingTerms* terms = termsOf(memory);
  if (terms == nullptr || real<Cu::cuCtxGetDevice>()(&current) != CUDA_SUCCESS) return 0;
  if (memory.view != nullptr) {
    const auto at = static_cast<unsigned>(current);
    if (at >= BackingTerms::kMaxAccess) return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return memory.view->access[at].load(std::memory_order_relaxed) & ~unsigned{AppMapping::kTold};
  }
  for (unsigned i = 0; i < terms->access_count; ++i) {
    if (terms->access[i].location.id == current) return terms->access[i].flags;
  }
  return CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// Attributes of a view that differ from a block's; 0 bytes: none. Its range is that of the reserved
// addresses.
Answer answerForView(const Memory& memory, CUpointer_attribute attribute) {
  std::uint64_t begin = memory.view->address;
  std::uint64_t bytes = memory.view->bytes.load();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      runtime().tokens.reservationOf(memory.view->address, &begin, &bytes);
      return {begin, kLong};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      runtime().tokens.reservationOf(memory.view->address, &begin, &bytes);
      return {bytes, kLong};
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return {memory.block->made_as.handle_types, kLong};
    default:
      return {0, 0};
  }
}

// The pool that it came from, even if the pool was destroyed since.
std::uint64_t poolOf(const SwapBlock& block) {
  if (block.pool == 0) return 0;
  return reinterpret_cast<std::uint64_t>(runtime().pools.at(block.pool - 1).handle.load());
}

Answer answerFor(const Memory& memory, CUdeviceptr address, CUpointer_attribute attribute) {
  const SwapBlock& block = *memory.block;
  if (memory.view != nullptr) {
    const Answer answer = answerForView(memory, attribute);
    if (answer.bytes != 0) return answer;
  }
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return {reinterpret_cast<std::uint64_t>(block.owner), kLong};
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return {CU_MEMORYTYPE_DEVICE, kWord};
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return {address, kLong};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return {0, kLong, CUDA_ERROR_INVALID_VALUE};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return {memory.syncMemops(), kWord};
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return {memory.id(), kLong};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return {block.ordinal, kWord};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return {memory.base(), kLong};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return {memory.bytes(), kLong};
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return {1, kWord};
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return {accessFlags(memory), kWord};
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return {poolOf(block), kLong};
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return {0, kLong};
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return {hasLegacyIpc(memory), kWord};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return {0, kWord};
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:
      return {~std::uint64_t{0}, kWord};
    default:
      return {0, 0};
  }
}

// Tokens give other devices access for as long as the memory lives, so swappable memory has none.
// Since CUDA 5 another interface serves their purpose.
bool isRefused(const Memory& memory, CUpointer_attribute attribute) {
  return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS && memory &&
         memory.number != ChunkTable::kNone &&
         memory.block->pins.load(std::memory_order_relaxed) == 0;
}

// Returns false if the driver must answer, or refuse, an attribute.
bool answerAll(const Memory& memory, CUdeviceptr address, unsigned count,
               const CUpointer_attribute* attributes, void** data) {
  if (attributes == nullptr || data == nullptr || count == 0) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr || answerFor(memory, address, attributes[i]).bytes == 0) return false;
  }
  for (unsigned i = 0; i < count; ++i) answerFor(memory, address, attributes[i]).store(data[i]);
  return true;
}

}  // namespace

DIVVY_HOOK(cuMemGetAddressRange_v2)
(CUdeviceptr* pbase, std::size_t* psize, CUdeviceptr dptr) noexcept {
  const DriverCallScope inside;
  const Memory memory = inside.nested() ? Memory{} : memoryAt(dptr);
  if (!memory) {
    return real<Cu::cuMemGetAddressRange_v2>()(pbase, psize, memory.orNowhere(dptr));
  }
  if (pbase != nullptr) *pbase = memory.base();
  if (psize != nullptr) *psize = memory.bytes();
  return CUDA_SUCCESS;
}

DIVVY_HOOK(cuPointerGetAttribute)
(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) noexcept {
  const DriverCallScope inside;
  const Memory memory = inside.nested() || data == nullptr ? Memory{} : memoryAt(ptr);
  if (isRefused(memory, attribute)) return CUDA_ERROR_INVALID_VALUE;
  const Answer answer = memory ? answerFor(memory, ptr, attribute) : Answer{0, 0};
  if (answer.bytes == 0) {
    return real<Cu::cuPointerGetAttribute>()(data, attribute, memory.orNowhere(ptr));
  }
  if (answer.result == CUDA_SUCCESS) answer.store(data);
  return answer.result;
}

DIVVY_HOOK(cuPointerGetAttributes)
(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
 CUdeviceptr ptr) noexcept {
  const DriverCallScope inside;
  const Memory memory = inside.nested() ? Memory{} : memoryAt(ptr);
  if (memory && answerAll(memory, ptr, numAttributes, attributes, data)) {
    return CUDA_SUCCESS;
  }
  for (unsigned i = 0; attributes != nullptr && i < numAttributes; ++i) {
    if (isRefused(memory, attributes[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return real<Cu::cuPointerGetAttributes>()(numAttributes, attributes, data, memory.orNowhere(ptr));
}

// A caller sets it to let other components than the driver use the memory, so the memory must stay.
// For pinned memory the driver stores it where the application mapped it.
DIVVY_HOOK(cuPointerSetAttribute)
(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) noexcept {
  const DriverCallScope inside;
  const bool ours =
      !inside.nested() && value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  const Memory memory = ours ? memoryAt(ptr) : Memory{};
  if (!memory) {
    return real<Cu::cuPointerSetAttribute>()(value, attribute, memory.orNowhere(ptr));
  }
  std::uint32_t wanted = 0;
  __builtin_memcpy(&wanted, value, sizeof wanted);
  if (wanted != 0 && memory.number != ChunkTable::kNone) {
    const CUresult pinned = runtime().swappable.pin(memory.number, PinReason::kForeignUse);
    if (pinned != CUDA_SUCCESS) return pinned;
  }
  if (memory.view != nullptr) {
    const CUresult result = real<Cu::cuPointerSetAttribute>()(value, attribute, ptr);
    if (result != CUDA_SUCCESS) return result;
  }
  if (wanted != 0 && memory.view == nullptr) {
    runtime().sync_memops.store(true, std::memory_order_relaxed);
  }
  if (memory.small()) {
    Arenas::setSyncMemops(*memory.block, ptr, wanted != 0);
  } else {
    memory.block->sync_memops.store(wanted != 0, std::memory_order_relaxed);
  }
  return CUDA_SUCCESS;
}
