#pragma once
#include "abi/cuda_types.h"
namespace divvy::simgpu {
CUresult freePooled(CUdeviceptr address);
}
