// How much device memory an array takes.
#pragma once

#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// Bytes of an array of `levels` mip levels (0: a plain array) on the driver's device `device`. The
// driver is asked with an array of the same shape that has no memory (deferred mapping); one that
// cannot say gets the upper bound below. 0 for arrays that take none themselves (sparse, deferred).
std::uint64_t arrayBytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels, CUdevice device);

// Meant to be no less than what any driver takes: elements times their size, rows and columns
// rounded up to blocks, every mip level to 64 KiB.
std::uint64_t arrayBytesBound(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels);

// A descriptor without depth or flags, or with 32-bit sizes, in the widest form.
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR& shape);
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR_v1& shape);
CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape);

}  // namespace divvy::interposer
