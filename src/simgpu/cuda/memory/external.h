// Memory of other APIs. The only one there is to import from is this driver itself: an opaque
// descriptor is a shareable handle of cuMemExportToShareableHandle.
#pragma once

#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {

CUresult importExternal(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc, CUexternalMemory* out);
CUresult destroyExternal(CUexternalMemory handle);
// Addresses of a part of it, to be freed with cuMemFree; the memory lives that long.
CUresult mapExternalBuffer(Context& context, CUexternalMemory handle,
                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc, CUdeviceptr* out);

// For cuMemFree: whether the region is such a buffer.
inline bool isExternalBuffer(const Region& region) {
  return region.kind == RegionKind::kImported && region.physical != nullptr;
}

}  // namespace divvy::simgpu
