// Functions of pools for the execution half: synchronisation points and graph memory nodes.
#pragma once

#include "abi/cuda_types.h"

#include <cstddef>
#include <cstdint>

#include "cuda/context/context.h"

namespace divvy::simgpu {

// Every stream, event or context synchronisation ends with this: pools give back what exceeds their
// release threshold, as the real driver does. `stream`: the one that was waited for; 0: all.
void trimPoolsAfterSynchronize(Device& device, std::uint64_t stream);

// Memory of a graph's allocation node. Its address is fixed when the node is made (reserve). It is
// backed while an executable graph may run; `back` charges the card as graph memory on first
// launch. It is usable between the execution of the allocation node and of the free node (open,
// close). `release` ends it.
CUresult graphReserve(Device& device, std::size_t bytes, CUdeviceptr* address);
CUresult graphBack(CUdeviceptr address);
void graphOpen(CUdeviceptr address);
void graphClose(CUdeviceptr address);
void graphRelease(CUdeviceptr address);

}  // namespace divvy::simgpu
