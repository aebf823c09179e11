#include "copy_array.h"

namespace divvy::simgpu {

__attribute__((weak)) CUresult arrayEnd(CUarray, std::size_t, const ArrayBox&, CopyEnd*) {
  return CUDA_ERROR_INVALID_HANDLE;
}

__attribute__((weak)) CUresult arrayElementBytes(CUarray, std::size_t*) {
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace divvy::simgpu
