// Pinned host memory: allocated here, or the program's own, registered.
#pragma once

#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

inline constexpr unsigned kHostRegistered = 1U << 31;  // in Region::flags: not ours to unmap

CUresult allocateHost(Context& context, std::size_t bytes, unsigned flags, void** out);
CUresult registerHost(Context& context, void* address, std::size_t bytes, unsigned flags);
// Frees or unregisters the range that begins there.
void releaseHost(CUdeviceptr address);
// Ends an import (ipc.h); here so that contexts can end without knowing of it.
void closeImport(CUdeviceptr address);

}  // namespace divvy::simgpu
