// CUDA arrays as sides of copies.
#pragma once

#include "abi/cuda_types.h"

#include <cstddef>

#include "cuda/copy/copy.h"

namespace divvy::simgpu {

// Bytes along x, rows and planes (or layers) otherwise.
struct ArrayBox {
  std::size_t x, y, z;
  std::size_t width, height, depth;
};

// CUDA_ERROR_INVALID_VALUE when the box does not lie in the array, CUDA_ERROR_INVALID_HANDLE when
// there is no such array.
CUresult arrayEnd(CUarray array, std::size_t level, const ArrayBox& box, CopyEnd* out);
CUresult arrayElementBytes(CUarray array, std::size_t* bytes);

}  // namespace divvy::simgpu
