// cuMemCreate, cuMemMap and the other calls of virtual memory management. None needs a context.
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/vmm/vmm.h"
#include "cuda/vmm/vmm_cost.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

// Spends the cost of a successful call. At its end, when nothing waits for the caller.
CUresult costing(VmmCost cost, CUresult result) {
  if (result == CUDA_SUCCESS) spendVmm(cost);
  return result;
}

// Runs the body with the table locked and the handle's memory.
template <typename Body>
CUresult withPhysical(CUmemGenericAllocationHandle handle, Body&& body) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const auto physical = PhysicalTable::get().find(handle);
  return physical == nullptr ? CUDA_ERROR_INVALID_VALUE : body(physical);
}

CUresult retainAt(CUdeviceptr address, CUmemGenericAllocationHandle* out) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  if (region == nullptr || region->kind != RegionKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  PhysicalTable::get().retain(region->physical);
  *out = region->physical->handle;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuMemGetAllocationGranularity)
(size_t* granularity, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option) {
  return withDriver(Cu::cuMemGetAllocationGranularity, [&]() -> CUresult {
    if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemAllocationProp normal;
    Device* device = nullptr;
    const CUresult result = checkAllocation(*prop, &normal, &device);
    if (result == CUDA_SUCCESS) *granularity = vmmGranule(device);
    return result;
  });
}

SIMGPU_IMPL(cuMemAddressReserve)
(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint, unsigned long long flags) {
  return withDriver(Cu::cuMemAddressReserve, [&]() -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return reserveAddresses(bytes, alignment, hint, out);
  });
}
SIMGPU_IMPL(cuMemAddressFree)(CUdeviceptr address, size_t bytes) {
  return withDriver(Cu::cuMemAddressFree, [&] { return freeAddresses(address, bytes); });
}

SIMGPU_IMPL(cuMemCreate)
(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* prop,
 unsigned long long flags) {
  return withDriver(Cu::cuMemCreate, [&]() -> CUresult {
    if (prop == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return costing(&Profile::vmm_create_ns, createPhysical(*prop, bytes, out));
  });
}
SIMGPU_IMPL(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  return withDriver(Cu::cuMemRelease, [&] {
    return withPhysical(handle, [](const std::shared_ptr<Physical>& physical) {
      PhysicalTable::get().release(physical);
      collectRetired();
      return CUDA_SUCCESS;
    });
  });
}
SIMGPU_IMPL(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* out, void* address) {
  return withDriver(Cu::cuMemRetainAllocationHandle, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return retainAt(reinterpret_cast<CUdeviceptr>(address), out);
  });
}
SIMGPU_IMPL(cuMemGetAllocationPropertiesFromHandle)
(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  return withDriver(Cu::cuMemGetAllocationPropertiesFromHandle, [&]() -> CUresult {
    if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return withPhysical(handle, [&](const std::shared_ptr<Physical>& physical) {
      *prop = physical->prop;
      return CUDA_SUCCESS;
    });
  });
}

SIMGPU_IMPL(cuMemMap)
(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
 unsigned long long flags) {
  return withDriver(Cu::cuMemMap, [&]() -> CUresult {
    if (offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return costing(&Profile::vmm_map_ns, mapHandle(address, bytes, handle));
  });
}
SIMGPU_IMPL(cuMemUnmap)(CUdeviceptr address, size_t bytes) {
  return withDriver(Cu::cuMemUnmap,
                    [&] { return costing(&Profile::vmm_unmap_ns, unmapRange(address, bytes)); });
}
SIMGPU_IMPL(cuMemSetAccess)
(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descs, size_t count) {
  return withDriver(Cu::cuMemSetAccess, [&] {
    return costing(&Profile::vmm_access_ns, setAccess(address, bytes, descs, count));
  });
}
SIMGPU_IMPL(cuMemGetAccess)
(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return withDriver(Cu::cuMemGetAccess, [&]() -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return getAccess(*location, address, flags);
  });
}

SIMGPU_IMPL(cuMemExportToShareableHandle)
(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
 unsigned long long flags) {
  return withDriver(Cu::cuMemExportToShareableHandle, [&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    return withPhysical(handle, [&](const std::shared_ptr<Physical>& physical) {
      return exportPhysical(physical, static_cast<int*>(out));
    });
  });
}
SIMGPU_IMPL(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* out, void* os_handle, CUmemAllocationHandleType type) {
  return withDriver(Cu::cuMemImportFromShareableHandle, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_SUPPORTED;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    const std::unique_lock guard(MemoryTable::get().mutex);
    std::shared_ptr<Physical> physical;
    // The pointer holds the descriptor itself.
    const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
    const CUresult result = importPhysical(fd, &physical);
    if (result == CUDA_SUCCESS) *out = physical->handle;
    return result;
  });
}

}  // namespace divvy::simgpu
