// Access to mapped memory: none until cuMemSetAccess.
#include <mutex>

#include "cuda/context/device_attributes.h"
#include "cuda/vmm/vmm.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

bool isHost(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

bool isAccess(CUmemAccess_flags flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult checkDesc(const Region& region, const CUmemAccessDesc& desc) {
  if (!isAccess(desc.flags)) return CUDA_ERROR_INVALID_VALUE;
  if (isHost(desc.location.type)) {
    return isHost(region.physical->prop.location.type) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (desc.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = findDevice(desc.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const bool reachable =
      region.device == nullptr || region.device == device || peersPossible(*device, *region.device);
  return reachable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

bool applyToHost(Region& region, CUmemAccess_flags flags) {
  Window& window = Window::get();
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
    if (region.flags != 0) window.closeToHost(region.begin, region.bytes);
  } else {
    const ForeignWindow* foreign = region.physical->foreign.get();
    const std::uint64_t data =
        foreign != nullptr ? foreign->header().data_offset : window.header().data_offset;
    if (!window.openToHost(region.begin, region.bytes,
                           foreign != nullptr ? foreign->fd : window.fd(),
                           data + region.physical->offset + region.physical_offset,
                           flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) {
      return false;
    }
  }
  region.flags = static_cast<unsigned>(flags);
  return true;
}

bool apply(Region& region, const CUmemAccessDesc& desc) {
  if (isHost(desc.location.type)) return applyToHost(region, desc.flags);
  region.access[static_cast<std::size_t>(desc.location.id)] = static_cast<std::uint8_t>(desc.flags);
  return true;
}

}  // namespace

CUresult setAccess(CUdeviceptr address, std::uint64_t bytes, const CUmemAccessDesc* descs,
                   std::size_t count) {
  if (descs == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::unique_lock guard(MemoryTable::get().mutex);
  const std::vector<Region*> regions = mappingsIn(address, bytes);
  if (regions.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const Region* region : regions) {
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult fine = checkDesc(*region, descs[i]); fine != CUDA_SUCCESS) return fine;
    }
  }
  MemoryTable::get().moveEpoch();
  for (Region* region : regions) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!apply(*region, descs[i])) return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return CUDA_SUCCESS;
}

CUresult getAccess(const CUmemLocation& location, CUdeviceptr address, unsigned long long* flags) {
  const std::shared_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  if (region == nullptr || region->kind != RegionKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  if (isHost(location.type)) {
    *flags = region->flags;
    return CUDA_SUCCESS;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (findDevice(location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *flags = region->access[static_cast<std::size_t>(location.id)];
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
