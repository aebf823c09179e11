// Prefetch, advice and attributes of managed memory.
#include <cstring>
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"
#include "cuda/memory/managed.h"

namespace divvy::simgpu {
namespace {

constexpr int kNowhere = -2;  // the driver's answer if nothing was set

// Runs `body` on the managed region that holds the whole range, under the table's mutex.
template <typename Body>
CUresult onManaged(CUdeviceptr address, std::size_t bytes, Body&& body) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  Region* region = MemoryTable::get().find(address);
  if (bytes == 0 || region == nullptr || region->managed == nullptr ||
      bytes > region->bytes - (address - region->begin)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return body(*region);
}

// A location as an ordinal: -1 for the host. False: no such place.
bool ordinalOf(const CUmemLocation& location, int* ordinal) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      *ordinal = location.id;
      return findDevice(location.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      *ordinal = kOnHost;
      return true;
    default:
      return false;
  }
}

CUmemLocation locationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

CUresult prefetch(Context& context, CUdeviceptr address, std::size_t bytes,
                  const CUmemLocation& location, StreamArgument stream) {
  int ordinal = 0;
  if (!ordinalOf(location, &ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  const CUresult known = onManaged(address, bytes, [&](Region& region) {
    region.managed->last_prefetch = ordinal;
    return CUDA_SUCCESS;
  });
  if (known != CUDA_SUCCESS) return known;
  return exec::enqueueAction(context, stream, [address, bytes, ordinal] {
    onManaged(address, bytes, [&](Region& region) {
      moveManaged(region, address, bytes, ordinal == kOnHost ? nullptr : findDevice(ordinal));
      return CUDA_SUCCESS;
    });
  });
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                const CUmemLocation& location) {
  int ordinal = 0;
  const bool needs_place = advice != CU_MEM_ADVISE_SET_READ_MOSTLY &&
                           advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
                           advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
  if (!ordinalOf(location, &ordinal) && needs_place) return CUDA_ERROR_INVALID_DEVICE;
  return onManaged(address, bytes, [&](Region& region) -> CUresult {
    ManagedPages& pages = *region.managed;
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        pages.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        pages.preferred_device = ordinal;
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        pages.preferred_device = kNowhere;
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        if (ordinal >= 0) pages.accessed_by[ordinal] = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

int locationType(int ordinal) {
  if (ordinal == kNowhere) return CU_MEM_LOCATION_TYPE_INVALID;
  return ordinal == kOnHost ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
}

CUresult attributeOf(const Region& region, CUmem_range_attribute attribute, void* data,
                     std::size_t room) {
  const ManagedPages& pages = *region.managed;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    if (room == 0 || room % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
    auto* out = static_cast<int*>(data);
    std::size_t at = 0;
    for (int i = 0; i < kMaxCards && at < room / sizeof(int); ++i) {
      if (pages.accessed_by[i]) out[at++] = i;
    }
    while (at < room / sizeof(int)) out[at++] = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
  }
  if (room != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  int value = 0;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      value = pages.read_mostly ? 1 : 0;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      value = pages.preferred_device;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      value = pages.last_prefetch;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      value = locationType(pages.preferred_device);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      value = pages.preferred_device < 0 ? 0 : pages.preferred_device;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      value = locationType(pages.last_prefetch);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      value = pages.last_prefetch < 0 ? 0 : pages.last_prefetch;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

struct Batch {
  CUdeviceptr* addresses;
  std::size_t* bytes;
  std::size_t count;
  CUmemLocation* locations;
  std::size_t* first;  // first[i]: the first range that goes to locations[i]
  std::size_t location_count;
};

CUresult prefetchBatch(Cu id, const Batch& batch, unsigned long long flags, StreamArgument stream) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (flags != 0 || batch.count == 0 || batch.location_count == 0 || batch.addresses == nullptr ||
        batch.bytes == nullptr || batch.locations == nullptr || batch.first == nullptr ||
        batch.first[0] != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      while (place + 1 < batch.location_count && batch.first[place + 1] <= i) ++place;
      const CUresult result =
          prefetch(context, batch.addresses[i], batch.bytes[i], batch.locations[place], stream);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult prefetchOne(Cu id, CUdeviceptr address, std::size_t bytes, const CUmemLocation& location,
                     unsigned flags, StreamArgument stream) {
  return withContext(id, [&](Context& context) {
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE
                      : prefetch(context, address, bytes, location, stream);
  });
}

// The contents may be dropped; keeping them is allowed, too.
CUresult discardBatch(Cu id, CUdeviceptr* addresses, std::size_t* bytes, std::size_t count) {
  return withContext(id, [&](Context&) -> CUresult {
    if (addresses == nullptr || bytes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      const CUresult known =
          onManaged(addresses[i], bytes[i], [](Region&) { return CUDA_SUCCESS; });
      if (known != CUDA_SUCCESS) return known;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(cuMemPrefetchAsync)
(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetchOne(Cu::cuMemPrefetchAsync, address, bytes, locationOf(device), 0,
                     {stream, false});
}
SIMGPU_IMPL(cuMemPrefetchAsync_ptsz)
(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetchOne(Cu::cuMemPrefetchAsync_ptsz, address, bytes, locationOf(device), 0,
                     {stream, true});
}
SIMGPU_IMPL(cuMemPrefetchAsync_v2)
(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream) {
  return prefetchOne(Cu::cuMemPrefetchAsync_v2, address, bytes, location, flags, {stream, false});
}
SIMGPU_IMPL(cuMemPrefetchAsync_v2_ptsz)
(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream) {
  return prefetchOne(Cu::cuMemPrefetchAsync_v2_ptsz, address, bytes, location, flags,
                     {stream, true});
}
SIMGPU_IMPL(cuMemPrefetchBatchAsync)
(CUdeviceptr* addresses, size_t* bytes, size_t count, CUmemLocation* locations, size_t* first,
 size_t location_count, unsigned long long flags, CUstream stream) {
  return prefetchBatch(Cu::cuMemPrefetchBatchAsync,
                       {addresses, bytes, count, locations, first, location_count}, flags,
                       {stream, false});
}
SIMGPU_IMPL(cuMemPrefetchBatchAsync_ptsz)
(CUdeviceptr* addresses, size_t* bytes, size_t count, CUmemLocation* locations, size_t* first,
 size_t location_count, unsigned long long flags, CUstream stream) {
  return prefetchBatch(Cu::cuMemPrefetchBatchAsync_ptsz,
                       {addresses, bytes, count, locations, first, location_count}, flags,
                       {stream, true});
}
SIMGPU_IMPL(cuMemDiscardAndPrefetchBatchAsync)
(CUdeviceptr* addresses, size_t* bytes, size_t count, CUmemLocation* locations, size_t* first,
 size_t location_count, unsigned long long flags, CUstream stream) {
  return prefetchBatch(Cu::cuMemDiscardAndPrefetchBatchAsync,
                       {addresses, bytes, count, locations, first, location_count}, flags,
                       {stream, false});
}
SIMGPU_IMPL(cuMemDiscardAndPrefetchBatchAsync_ptsz)
(CUdeviceptr* addresses, size_t* bytes, size_t count, CUmemLocation* locations, size_t* first,
 size_t location_count, unsigned long long flags, CUstream stream) {
  return prefetchBatch(Cu::cuMemDiscardAndPrefetchBatchAsync_ptsz,
                       {addresses, bytes, count, locations, first, location_count}, flags,
                       {stream, true});
}
SIMGPU_IMPL(cuMemDiscardBatchAsync)
(CUdeviceptr* addresses, size_t* bytes, size_t count, unsigned long long, CUstream) {
  return discardBatch(Cu::cuMemDiscardBatchAsync, addresses, bytes, count);
}
SIMGPU_IMPL(cuMemDiscardBatchAsync_ptsz)
(CUdeviceptr* addresses, size_t* bytes, size_t count, unsigned long long, CUstream) {
  return discardBatch(Cu::cuMemDiscardBatchAsync_ptsz, addresses, bytes, count);
}

SIMGPU_IMPL(cuMemAdvise)
(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return withContext(Cu::cuMemAdvise,
                     [&](Context&) { return advise(address, bytes, advice, locationOf(device)); });
}
SIMGPU_IMPL(cuMemAdvise_v2)
(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return withContext(Cu::cuMemAdvise_v2,
                     [&](Context&) { return advise(address, bytes, advice, location); });
}
SIMGPU_IMPL(cuMemRangeGetAttribute)
(void* data, size_t room, CUmem_range_attribute attribute, CUdeviceptr address, size_t bytes) {
  return withContext(Cu::cuMemRangeGetAttribute, [&](Context&) -> CUresult {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return onManaged(address, bytes,
                     [&](Region& region) { return attributeOf(region, attribute, data, room); });
  });
}
SIMGPU_IMPL(cuMemRangeGetAttributes)
(void** data, size_t* rooms, CUmem_range_attribute* attributes, size_t count, CUdeviceptr address,
 size_t bytes) {
  return withContext(Cu::cuMemRangeGetAttributes, [&](Context&) -> CUresult {
    if (data == nullptr || rooms == nullptr || attributes == nullptr || count == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return onManaged(address, bytes, [&](Region& region) -> CUresult {
      for (size_t i = 0; i < count; ++i) {
        const CUresult got = attributeOf(region, attributes[i], data[i], rooms[i]);
        if (got != CUDA_SUCCESS) return got;
      }
      return CUDA_SUCCESS;
    });
  });
}

}  // namespace divvy::simgpu
