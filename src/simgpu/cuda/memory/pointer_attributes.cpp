// cuPointerGetAttribute and related calls: properties of an address.
#include <cstring>
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/device_attributes.h"
#include "cuda/memory/external.h"
#include "cuda/memory/memory_table.h"
#include "cuda/pool/pool.h"
#include "cuda/vmm/vmm.h"

namespace divvy::simgpu {
namespace {

// One result: the value and the size of the attribute's type.
struct AttributeValue {
  std::uint64_t value = 0;
  std::size_t bytes = 0;
};

// Booleans are 4 bytes, as the callers' variables are.
std::size_t sizeOf(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:
      return 4;
    default:
      return 0;
  }
}

bool onHost(const Region& region) {
  return region.kind == RegionKind::kHost || region.device == nullptr;
}

unsigned allowedTypes(const Region& region) {
  if (region.physical != nullptr) {
    return static_cast<unsigned>(region.physical->prop.requestedHandleTypes);
  }
  return region.pool == nullptr ? 0U : static_cast<unsigned>(region.pool->props().handleTypes);
}

// Returns the access rights of the current context's device.
unsigned accessFlags(Context& context, const Region& region) {
  switch (region.kind) {
    case RegionKind::kMapped:
    case RegionKind::kPool:
    case RegionKind::kImported:
      return region.access[static_cast<std::size_t>(context.device().ordinal)];
    case RegionKind::kHost:
    case RegionKind::kManaged:
      return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    default:
      return context.canAccess(*region.device) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                               : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
}

bool hostReaches(const Region& region) {
  const bool opened = region.kind == RegionKind::kMapped ? region.flags != 0 : onHost(region);
  return opened || region.kind == RegionKind::kManaged;
}

// 1 or 0; -1 for attributes that are not flags.
int flagOf(const Region& region, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return region.sync_memops ? 1 : 0;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return region.kind == RegionKind::kManaged ? 1 : 0;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return region.kind == RegionKind::kPlain && region.charge == Charge::kPlain ? 1 : 0;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return 1;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return 0;
    default:
      return -1;
  }
}

std::uint64_t placeOf(const Region& region, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return region.begin;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return region.requested;
    default:
      return region.buffer_id;
  }
}

// False: the memory has no such property.
bool answerFor(Context& context, const Region& region, CUdeviceptr address,
               CUpointer_attribute attribute, std::uint64_t* value) {
  if (const int flag = flagOf(region, attribute); flag >= 0) {
    *value = static_cast<std::uint64_t>(flag);
    return true;
  }
  const Device& device = region.device == nullptr ? context.device() : *region.device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *value = reinterpret_cast<std::uintptr_t>(region.owner == nullptr ? nullptr
                                                                        : region.owner->handle());
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *value = onHost(region) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *value = address;
      return attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER || hostReaches(region);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *value = static_cast<std::uint64_t>(device.ordinal);
      return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *value = allowedTypes(region);
      return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *value = accessFlags(context, region);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *value = reinterpret_cast<std::uintptr_t>(region.pool == nullptr ? nullptr
                                                                       : region.pool->handle());
      return true;
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:
      *value = ~std::uint64_t{0};
      return true;
    default:
      *value = placeOf(region, attribute);
      return true;
  }
}

bool answerForReserved(CUdeviceptr address, CUpointer_attribute attribute, std::uint64_t* value) {
  const auto& reservations = PhysicalTable::get().reservations();
  auto after = reservations.upper_bound(address);
  if (after == reservations.begin()) return false;
  const auto& [begin, reservation] = *std::prev(after);
  if (address - begin >= reservation.bytes) return false;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *value = begin;
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *value = reservation.bytes;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *value = 0;
      return true;
    default:
      return false;
  }
}

// The range of mapped memory is the reserved range.
bool isRange(CUpointer_attribute attribute) {
  return attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
         attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
}

// CUDA_ERROR_INVALID_VALUE: the attribute is unknown, or the address has no such property. The
// value is then the one that cuPointerGetAttributes returns instead of an error.
CUresult query(Context& context, CUdeviceptr address, CUpointer_attribute attribute,
               AttributeValue* answer) {
  answer->value = 0;
  answer->bytes = sizeOf(attribute);
  if (answer->bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  const bool known = region != nullptr && !region->closed && region->kind != RegionKind::kArray;
  const bool reserved = !known || (region->kind == RegionKind::kMapped && isRange(attribute));
  const bool answered = reserved ? answerForReserved(address, attribute, &answer->value)
                                 : answerFor(context, *region, address, attribute, &answer->value);
  if (answered) return CUDA_SUCCESS;
  answer->value = attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
                      ? static_cast<std::uint32_t>(CU_DEVICE_INVALID)
                      : 0;
  return CUDA_ERROR_INVALID_VALUE;
}

void store(const AttributeValue& answer, void* data) {
  std::memcpy(data, &answer.value, answer.bytes);
}

}  // namespace

SIMGPU_IMPL(cuPointerGetAttribute)
(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return withContext(Cu::cuPointerGetAttribute, [&](Context& context) -> CUresult {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    AttributeValue answer;
    const CUresult result = query(context, address, attribute, &answer);
    if (result == CUDA_SUCCESS) store(answer, data);
    return result;
  });
}

SIMGPU_IMPL(cuPointerGetAttributes)
(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  return withContext(Cu::cuPointerGetAttributes, [&](Context& context) -> CUresult {
    if (attributes == nullptr || data == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] == nullptr || sizeOf(attributes[i]) == 0) return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; ++i) {
      AttributeValue answer;
      query(context, address, attributes[i], &answer);
      store(answer, data[i]);
    }
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuPointerSetAttribute)
(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return withContext(Cu::cuPointerSetAttribute, [&](Context&) -> CUresult {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned wanted = 0;
    std::memcpy(&wanted, value, sizeof wanted);
    const std::unique_lock guard(MemoryTable::get().mutex);
    Region* region = MemoryTable::get().find(address);
    if (region == nullptr || region->closed || region->kind != RegionKind::kPlain) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    region->sync_memops = wanted != 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
