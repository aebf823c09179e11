#include "cuda/copy/copy_array.h"

#include "cuda/array/array.h"

namespace divvy::simgpu {
namespace {

bool fits(std::size_t at, std::size_t length, std::size_t whole) {
  return at <= whole && length <= whole - at;
}

}  // namespace

CUresult arrayEnd(CUarray handle, std::size_t level, const ArrayBox& box, CopyEnd* out) {
  const ArrayObject* array = findArray(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const ArrayLayout& layout = array->layout;
  if (level != 0 || box.x % layout.element != 0 || box.width % layout.element != 0 ||
      !fits(box.x, box.width, layout.width) || !fits(box.y, box.height, layout.height) ||
      !fits(box.z, box.depth, layout.depth)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // In unmapped parts the real card reads nothing and writes nowhere, which no program wants.
  if (array->tiles != nullptr &&
      !array->tiles->covers(array->level, {box.x / layout.element, box.y, box.z},
                            {box.width / layout.element, box.height, box.depth})) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = deviceEnd(layout.address + box.z * layout.slice + box.y * layout.pitch + box.x);
  out->pitch = layout.pitch;
  out->slice = layout.slice;
  out->array_device = layout.device;
  return CUDA_SUCCESS;
}

CUresult arrayElementBytes(CUarray handle, std::size_t* bytes) {
  const ArrayObject* array = findArray(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *bytes = array->layout.element;
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
