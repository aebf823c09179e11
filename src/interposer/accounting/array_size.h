// How much device memory an array takes.
#pragma once

#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// Returns the bytes of an array of `levels` mip levels (0: a plain array) on the driver's device
// `device`. Asks the driver with an array of the same shape without memory (deferred mapping). If
// the driver returns no size, returns arrayBytesBound(). Returns 0 for arrays that take no memory
// themselves: sparse or deferred.
std::uint64_t arrayBytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels, CUdevice device);

// Returns an upper bound, meant for every driver: elements times their size. Rows and columns are
// rounded up to blocks, and every mip level to 64 KiB.
std::uint64_t arrayBytesBound(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels);

// Returns a descriptor without depth or flags, or with 32-bit sizes, in the widest form.
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR& shape);
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR_v1& shape);
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape);

}  // namespace divvy::interposer
