#include "accounting/array_size.h"

#include "cuda/capture_scope.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// Wider than the blocks of any known layout.
constexpr std::uint64_t kArrayAlignment = 65536;
constexpr std::uint64_t kRowAlignment = 512;  // bytes
constexpr std::uint64_t kRowsTogether = 8;
constexpr unsigned kWithoutMemory = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;

// Bytes of one element, all channels; for packed, planar and compressed formats more than any has.
std::uint64_t elementBytes(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return std::uint64_t{2} * channels;
    default:
      return std::uint64_t{4} * (channels > 4 || channels == 0 ? 4 : channels);
  }
}

std::uint64_t atLeastOne(std::uint64_t extent) {
  return extent == 0 ? 1 : extent;
}

// Saturates; unit is a power of two.
std::uint64_t roundUp(std::uint64_t value, std::uint64_t unit) {
  std::uint64_t sum;
  return __builtin_add_overflow(value, unit - 1, &sum) ? UINT64_MAX : sum & ~(unit - 1);
}

bool askPlain(const CUDA_ARRAY3D_DESCRIPTOR& shape, CUdevice device, std::uint64_t* bytes) {
  CUarray probe = nullptr;
  if (real<Cu::cuArray3DCreate_v2>()(&probe, &shape) != CUDA_SUCCESS) return false;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  const CUresult result = real<Cu::cuArrayGetMemoryRequirements>()(&needs, probe, device);
  real<Cu::cuArrayDestroy>()(probe);
  *bytes = needs.size;
  return result == CUDA_SUCCESS;
}

bool askMipmapped(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels, CUdevice device,
                  std::uint64_t* bytes) {
  CUmipmappedArray probe = nullptr;
  if (real<Cu::cuMipmappedArrayCreate>()(&probe, &shape, levels) != CUDA_SUCCESS) return false;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  const CUresult result = real<Cu::cuMipmappedArrayGetMemoryRequirements>()(&needs, probe, device);
  real<Cu::cuMipmappedArrayDestroy>()(probe);
  *bytes = needs.size;
  return result == CUDA_SUCCESS;
}

}  // namespace

std::uint64_t arrayBytesBound(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels) {
  std::uint64_t width = shape.Width, height = shape.Height, depth = shape.Depth;
  const bool layered = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  std::uint64_t sum = 0;
  for (unsigned level = 0; level < (levels == 0 ? 1 : levels); ++level) {
    std::uint64_t bytes = elementBytes(shape.Format, shape.NumChannels);
    const std::uint64_t rows = height > 1 ? roundUp(height, kRowsTogether) : 1;
    if (__builtin_mul_overflow(bytes, atLeastOne(width), &bytes) ||
        __builtin_mul_overflow(roundUp(bytes, kRowAlignment), rows, &bytes) ||
        __builtin_mul_overflow(bytes, atLeastOne(depth), &bytes) ||
        __builtin_add_overflow(sum, roundUp(bytes, kArrayAlignment), &sum)) {
      return UINT64_MAX;
    }
    width /= 2;
    height /= 2;
    if (!layered) depth /= 2;
  }
  return sum;
}

std::uint64_t arrayBytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels, CUdevice device) {
  if ((shape.Flags & kWithoutMemory) != 0) return 0;
  CUDA_ARRAY3D_DESCRIPTOR probe = shape;
  probe.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  Driver& driver = runtime().driver;
  if (driver.has(Cu::cuArrayGetMemoryRequirements)) {
    const RelaxedCapture relaxed;
    std::uint64_t bytes = 0;
    const bool told =
        levels == 0 ? askPlain(probe, device, &bytes) : askMipmapped(probe, levels, device, &bytes);
    if (told) return bytes;
  }
  return arrayBytesBound(shape, levels);
}

CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR& shape) {
  return {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0};
}

CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR_v1& shape) {
  return {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0};
}

CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape) {
  return {shape.Width, shape.Height, shape.Depth, shape.Format, shape.NumChannels, shape.Flags};
}

}  // namespace divvy::interposer
