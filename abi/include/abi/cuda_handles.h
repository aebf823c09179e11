// The CUDA driver's handles and small integers, under NVIDIA's names so that code reads like any
// other CUDA code. Our own text; tests/abi compares every size with NVIDIA's header where there
// is one. Never include this together with NVIDIA's cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda_enums.h"

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;

using CUdevice = int;  // ordinal handle; CU_DEVICE_INVALID is -2
using CUdevice_v1 = CUdevice;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v2 = CUdeviceptr;
using CUdeviceptr_v1 = unsigned int;  // before CUDA 3.2
using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUgraphConditionalHandle = cuuint64_t;
using CUlogicalEndpointId = cuuint32_t;
using CUlogIterator = unsigned int;
using CUkernelNodeAttrID = CUlaunchAttributeID;
using CUstreamAttrID = CUlaunchAttributeID;

using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
using CUlinkState = struct CUlinkState_st*;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUtexref = struct CUtexref_st*;
using CUsurfref = struct CUsurfref_st*;
using CUevent = struct CUevent_st*;
using CUstream = struct CUstream_st*;
using CUgraphicsResource = struct CUgraphicsResource_st*;
using CUexternalMemory = struct CUextMemory_st*;
using CUexternalSemaphore = struct CUextSemaphore_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphDeviceNode = struct CUgraphDeviceUpdatableNode_st*;
using CUuserObject = struct CUuserObject_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUasyncCallbackHandle = struct CUasyncCallbackEntry_st*;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;
using CUcoredumpCallbackHandle = struct CUcoredumpCallbackEntry_st*;
using CUcheckpointOperationHandle = struct CUIcheckpointOperation_st*;
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;

using CUhostFn = void (*)(void* userData);
using CUstreamCallback = void (*)(CUstream stream, CUresult status, void* userData);
using CUoccupancyB2DSize = std::size_t (*)(int blockSize);
using CUlogsCallback = void (*)(void* data, CUlogLevel level, char* message, std::size_t length);
using CUcoredumpStatusCallback = void (*)(void* userData, int pid, CUdevice device);

struct CUuuid {
  char bytes[16];
};

// Not enumerations in NVIDIA's header, so not in the list of those.
inline constexpr CUdevice CU_DEVICE_CPU = -1;
inline constexpr CUdevice CU_DEVICE_INVALID = -2;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_WRITECOMBINED = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTREGISTER_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTREGISTER_IOMEMORY = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_READ_ONLY = 8;
inline constexpr unsigned CUDA_ARRAY3D_LAYERED = 0x01;
inline constexpr unsigned CUDA_ARRAY3D_SURFACE_LDST = 0x02;
inline constexpr unsigned CUDA_ARRAY3D_CUBEMAP = 0x04;
inline constexpr unsigned CUDA_ARRAY3D_TEXTURE_GATHER = 0x08;
inline constexpr unsigned CUDA_ARRAY3D_SPARSE = 0x40;
inline constexpr unsigned CUDA_ARRAY3D_DEFERRED_MAPPING = 0x80;
inline constexpr unsigned CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL = 0x1;
inline constexpr unsigned CU_MEM_CREATE_USAGE_TILE_POOL = 0x1;
inline constexpr unsigned CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY = ~0U;
inline constexpr unsigned CU_TRSF_READ_AS_INTEGER = 0x01;
inline constexpr unsigned CU_TRSF_NORMALIZED_COORDINATES = 0x02;
// The stream handles that mean a default stream whatever the program was compiled for.
inline constexpr std::uintptr_t kStreamLegacy = 1;
inline constexpr std::uintptr_t kStreamPerThread = 2;
// The keys of cuLaunchKernel's `extra` array, and its end mark.
inline constexpr std::uintptr_t kLaunchParamEnd = 0;
inline constexpr std::uintptr_t kLaunchParamBufferPointer = 1;
inline constexpr std::uintptr_t kLaunchParamBufferSize = 2;
