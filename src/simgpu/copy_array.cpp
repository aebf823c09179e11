#include "copy_array.h"

#include "array.h"

namespace divvy::simgpu {
namespace {

bool inside(std::size_t at, std::size_t length, std::size_t whole) {
  return at <= whole && length <= whole - at;
}

}  // namespace

CUresult arrayEnd(CUarray array, std::size_t level, const ArrayBox& box, CopyEnd* out) {
  const ArrayObject* found = findArray(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (level != 0) return CUDA_ERROR_INVALID_VALUE;  // levels are arrays of their own
  const ArrayLayout& layout = found->layout;
  if (layout.address == 0 || !inside(box.x, box.width, layout.width) ||
      !inside(box.y, box.height, layout.height) || !inside(box.z, box.depth, layout.depth)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->space = CopySpace::kDevice;
  out->address = layout.address + box.z * layout.slice + box.y * layout.pitch + box.x;
  out->pitch = layout.pitch;
  out->slice = layout.slice;
  out->context = found->owner->handle();
  return CUDA_SUCCESS;
}

CUresult arrayElementBytes(CUarray array, std::size_t* bytes) {
  const ArrayObject* found = findArray(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *bytes = found->layout.element;
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
