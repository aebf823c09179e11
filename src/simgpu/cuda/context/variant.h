// How this build of the library calls itself. A real driver may reach its own public entry points
// by name, so that an interposer sees calls nested in others; test variants do so on purpose.
#pragma once

#include "abi/cuda_ids.h"
#include "abi/cuda_protos.h"

namespace divvy::simgpu {

// True in simgpu-reentrant: allocations inside other calls go through exported names.
extern const bool kReentrant;

}  // namespace divvy::simgpu

// Exported by this very library; which library's symbol is bound is up to how it was linked.
extern "C" {
extern divvy::abi::CuFn<divvy::abi::Cu::cuMemAlloc_v2>::type cuMemAlloc_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuMemFree_v2>::type cuMemFree_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuMemGetInfo_v2>::type cuMemGetInfo_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuMemAllocHost_v2>::type cuMemAllocHost_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuCtxDestroy_v2>::type cuCtxDestroy_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuDeviceTotalMem_v2>::type cuDeviceTotalMem_v2;
extern divvy::abi::CuFn<divvy::abi::Cu::cuArray3DCreate_v2>::type cuArray3DCreate_v2;
}
