// cuMemPool*, cuDeviceGetMemPool and related calls.
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/pool/pool.h"

namespace divvy::simgpu {
namespace {

// Runs `body` on a live pool, under the table's mutex.
template <typename Body>
CUresult onPool(Cu id, CUmemoryPool handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    const std::unique_lock guard(MemoryTable::get().mutex);
    MemPool* pool = findPool(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*pool);
  });
}

template <typename Body>
CUresult onDevice(Cu id, CUdevice ordinal, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::unique_lock guard(MemoryTable::get().mutex);
    return body(*device);
  });
}

bool hostLocation(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

CUresult checkProps(const CUmemPoolProps& props, Device** device) {
  *device = nullptr;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_NOT_SUPPORTED;
  const auto types = static_cast<unsigned>(props.handleTypes);
  if ((types & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != 0) {
    return types == CU_MEM_HANDLE_TYPE_FABRIC ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE;
  }
  if (hostLocation(props.location.type)) {
    const bool plain_host = props.location.type == CU_MEM_LOCATION_TYPE_HOST;
    return plain_host && types != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  if (props.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  *device = findDevice(props.location.id);
  return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult createPool(CUmemoryPool* out, const CUmemPoolProps* props) {
  if (out == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (const CUresult fine = checkProps(*props, &device); fine != CUDA_SUCCESS) return fine;
  const std::unique_lock guard(MemoryTable::get().mutex);
  *out = (new MemPool(device, *props))->handle();
  return CUDA_SUCCESS;
}

CUresult destroyPool(MemPool& pool) {
  if (pool.is_default) return CUDA_ERROR_INVALID_VALUE;
  if (pool.device() != nullptr && pool.device()->current_pool.load() == &pool) {
    pool.device()->current_pool = defaultPool(*pool.device());
  }
  pool.destroyed = true;
  buryPool(&pool);
  return CUDA_SUCCESS;
}

CUresult setCurrent(Device& device, CUmemoryPool handle) {
  MemPool* pool = findPool(handle);
  if (pool == nullptr || pool->device() != &device) return CUDA_ERROR_INVALID_VALUE;
  defaultPool(device);
  device.current_pool = pool;
  return CUDA_SUCCESS;
}

// The forms of 13.0 name a location; only devices have current pools.
CUresult deviceOf(const CUmemLocation* location, CUmemAllocationType type, Device** out) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return hostLocation(location->type) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  *out = findDevice(location->id);
  return *out == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuMemPoolCreate)(CUmemoryPool* out, const CUmemPoolProps* props) {
  return withDriver(Cu::cuMemPoolCreate, [&] { return createPool(out, props); });
}
SIMGPU_IMPL(cuMemPoolDestroy)(CUmemoryPool pool) {
  return onPool(Cu::cuMemPoolDestroy, pool, destroyPool);
}
SIMGPU_IMPL(cuMemPoolTrimTo)(CUmemoryPool handle, size_t keep) {
  return onPool(Cu::cuMemPoolTrimTo, handle, [&](MemPool& pool) {
    pool.trim(keep, TrimScope::kSeen);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMemPoolGetAttribute)
(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return onPool(Cu::cuMemPoolGetAttribute, handle, [&](MemPool& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : pool.getAttribute(attribute, value);
  });
}
SIMGPU_IMPL(cuMemPoolSetAttribute)
(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return onPool(Cu::cuMemPoolSetAttribute, handle, [&](MemPool& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : pool.setAttribute(attribute, value);
  });
}
SIMGPU_IMPL(cuMemPoolSetAccess)(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  return onPool(Cu::cuMemPoolSetAccess, handle, [&](MemPool& pool) -> CUresult {
    if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      if (const CUresult set = pool.setAccess(map[i]); set != CUDA_SUCCESS) return set;
    }
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMemPoolGetAccess)
(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return onPool(Cu::cuMemPoolGetAccess, handle, [&](MemPool& pool) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (hostLocation(location->type)) {
      *flags = pool.device() == nullptr ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
    const Device* device = findDevice(location->id);
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || device == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = static_cast<CUmemAccess_flags>(pool.access[device->ordinal]);
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuDeviceGetDefaultMemPool)(CUmemoryPool* out, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetDefaultMemPool, ordinal, [&](Device& device) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = defaultPool(device)->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetMemPool)(CUmemoryPool* out, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetMemPool, ordinal, [&](Device& device) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = currentPool(device)->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceSetMemPool)(CUdevice ordinal, CUmemoryPool pool) {
  return onDevice(Cu::cuDeviceSetMemPool, ordinal,
                  [&](Device& device) { return setCurrent(device, pool); });
}
SIMGPU_IMPL(cuMemGetDefaultMemPool)
(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return withDriver(Cu::cuMemGetDefaultMemPool, [&]() -> CUresult {
    Device* device = nullptr;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult found = deviceOf(location, type, &device); found != CUDA_SUCCESS) {
      return found;
    }
    const std::unique_lock guard(MemoryTable::get().mutex);
    *out = defaultPool(*device)->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMemGetMemPool)
(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return withDriver(Cu::cuMemGetMemPool, [&]() -> CUresult {
    Device* device = nullptr;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult found = deviceOf(location, type, &device); found != CUDA_SUCCESS) {
      return found;
    }
    const std::unique_lock guard(MemoryTable::get().mutex);
    *out = currentPool(*device)->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMemSetMemPool)(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return withDriver(Cu::cuMemSetMemPool, [&]() -> CUresult {
    Device* device = nullptr;
    if (const CUresult found = deviceOf(location, type, &device); found != CUDA_SUCCESS) {
      return found;
    }
    const std::unique_lock guard(MemoryTable::get().mutex);
    return setCurrent(*device, pool);
  });
}

}  // namespace divvy::simgpu
