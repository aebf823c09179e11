// cuDeviceGetAttribute, as data.
#pragma once

#include "cuda/context/device.h"

namespace divvy::simgpu {

// CUDA_ERROR_INVALID_VALUE for a number that is no attribute.
CUresult deviceAttribute(const Device& device, CUdevice_attribute attribute, int* value);

// Cards of one machine reach each other's memory when they are of one kind.
bool peersPossible(const Device& a, const Device& b);

}  // namespace divvy::simgpu
