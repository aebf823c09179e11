// Calls of the CUDA driver that probes share. Private.
#pragma once

#include <string>

#include "abi/cuda_enums.h"
#include "abi/cuda_protos.h"
#include "base/result.h"
#include "driver/library.h"

namespace divvy::driver {

template <abi::Cu id>
using Function = typename abi::CuFn<id>::type;

// "cuInit: CUDA error 100"
Error refused(const char* call, CUresult status);

// Returns the CUDA device with this UUID; the driver's order can differ from NVML's. Requires
// cuInit.
Result<CUdevice> findDevice(const Library& cuda, const std::string& uuid);

}  // namespace divvy::driver
