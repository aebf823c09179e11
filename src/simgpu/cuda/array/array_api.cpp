// cuArray*, cuMipmappedArray*.
#include "cuda/array/array.h"
#include "cuda/context/api_prologue.h"
#include "cuda/context/variant.h"

namespace divvy::simgpu {
namespace {

template <typename Narrow>
CUDA_ARRAY3D_DESCRIPTOR widened(const Narrow& shape) {
  return {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0};
}

CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape) {
  return {shape.Width, shape.Height, shape.Depth, shape.Format, shape.NumChannels, shape.Flags};
}

template <typename Shape>
void narrow(const CUDA_ARRAY3D_DESCRIPTOR& from, Shape* to) {
  to->Width = static_cast<decltype(to->Width)>(from.Width);
  to->Height = static_cast<decltype(to->Height)>(from.Height);
  to->Format = from.Format;
  to->NumChannels = from.NumChannels;
}

CUresult create(Cu id, CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (out == nullptr || shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return createArray(context, *shape, out);
  });
}

// Runs `body` on a live array.
template <typename Body>
CUresult onArray(Cu id, CUarray handle, Body&& body) {
  return withContext(id, [&](Context&) -> CUresult {
    ArrayObject* array = findArray(handle);
    return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*array);
  });
}

// Requirements exist only for arrays with memory that is mapped later.
CUresult requirements(const CUDA_ARRAY3D_DESCRIPTOR& shape, std::uint64_t bytes, CUdevice device,
                      CUDA_ARRAY_MEMORY_REQUIREMENTS* out) {
  if (out == nullptr || (shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (findDevice(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *out = {};
  out->size = bytes;
  out->alignment = kArrayUnit;
  return CUDA_SUCCESS;
}

CUresult sparseProperties(const std::shared_ptr<TileMap>& tiles,
                          CUDA_ARRAY_SPARSE_PROPERTIES* out) {
  if (out == nullptr || tiles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((tiles->shape().shape.Flags & CUDA_ARRAY3D_SPARSE) == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = sparsePropertiesOf(tiles->shape());
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuArrayCreate)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1* shape) {
  if (shape == nullptr) return create(Cu::cuArrayCreate, out, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR wide = widened(*shape);
  return create(Cu::cuArrayCreate, out, &wide);
}
SIMGPU_IMPL(cuArrayCreate_v2)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) {
  if (shape == nullptr) return create(Cu::cuArrayCreate_v2, out, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR wide = widened(*shape);
  if (kReentrant) return ::cuArray3DCreate_v2(out, &wide);
  return create(Cu::cuArrayCreate_v2, out, &wide);
}
SIMGPU_IMPL(cuArray3DCreate)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1* shape) {
  if (shape == nullptr) return create(Cu::cuArray3DCreate, out, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR wide = widened(*shape);
  return create(Cu::cuArray3DCreate, out, &wide);
}
SIMGPU_IMPL(cuArray3DCreate_v2)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return create(Cu::cuArray3DCreate_v2, out, shape);
}
SIMGPU_IMPL(cuArrayDestroy)(CUarray array) {
  return withContext(Cu::cuArrayDestroy, [&](Context&) { return destroyArray(array); });
}
SIMGPU_IMPL(cuArrayGetDescriptor)(CUDA_ARRAY_DESCRIPTOR_v1* out, CUarray handle) {
  return onArray(Cu::cuArrayGetDescriptor, handle, [&](ArrayObject& array) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    narrow(array.shape, out);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuArrayGetDescriptor_v2)(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  return onArray(Cu::cuArrayGetDescriptor_v2, handle, [&](ArrayObject& array) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    narrow(array.shape, out);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuArray3DGetDescriptor)(CUDA_ARRAY3D_DESCRIPTOR_v1* out, CUarray handle) {
  return onArray(Cu::cuArray3DGetDescriptor, handle, [&](ArrayObject& array) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    narrow(array.shape, out);
    out->Depth = static_cast<unsigned>(array.shape.Depth);
    out->Flags = array.shape.Flags;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuArray3DGetDescriptor_v2)(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  return onArray(Cu::cuArray3DGetDescriptor_v2, handle, [&](ArrayObject& array) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = array.shape;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuArrayGetMemoryRequirements)
(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray handle, CUdevice device) {
  return onArray(Cu::cuArrayGetMemoryRequirements, handle, [&](ArrayObject& array) {
    return requirements(array.shape, array.bytes, device, out);
  });
}
SIMGPU_IMPL(cuArrayGetSparseProperties)(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
  return onArray(Cu::cuArrayGetSparseProperties, handle, [&](ArrayObject& array) {
    return array.level_of_mipmap ? CUDA_ERROR_INVALID_VALUE : sparseProperties(array.tiles, out);
  });
}
SIMGPU_IMPL(cuArrayGetPlane)(CUarray*, CUarray handle, unsigned) {
  // Only multi-planar formats have planes.
  return onArray(Cu::cuArrayGetPlane, handle,
                 [](ArrayObject&) { return CUDA_ERROR_INVALID_VALUE; });
}

SIMGPU_IMPL(cuMipmappedArrayCreate)
(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  return withContext(Cu::cuMipmappedArrayCreate, [&](Context& context) -> CUresult {
    if (out == nullptr || shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return createMipmap(context, *shape, levels, out);
  });
}
SIMGPU_IMPL(cuMipmappedArrayDestroy)(CUmipmappedArray mipmap) {
  return withContext(Cu::cuMipmappedArrayDestroy, [&](Context&) { return destroyMipmap(mipmap); });
}
SIMGPU_IMPL(cuMipmappedArrayGetLevel)(CUarray* out, CUmipmappedArray handle, unsigned level) {
  return withContext(Cu::cuMipmappedArrayGetLevel, [&](Context&) -> CUresult {
    MipmapObject* mipmap = findMipmap(handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr || level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUarray>(mipmap->levels[level].get());
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMipmappedArrayGetMemoryRequirements)
(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUmipmappedArray handle, CUdevice device) {
  return withContext(Cu::cuMipmappedArrayGetMemoryRequirements, [&](Context&) -> CUresult {
    MipmapObject* mipmap = findMipmap(handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return requirements(mipmap->shape, mipmap->bytes, device, out);
  });
}
SIMGPU_IMPL(cuMipmappedArrayGetSparseProperties)
(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUmipmappedArray handle) {
  return withContext(Cu::cuMipmappedArrayGetSparseProperties, [&](Context&) {
    const MipmapObject* mipmap = findMipmap(handle);
    return mipmap == nullptr ? CUDA_ERROR_INVALID_HANDLE : sparseProperties(mipmap->tiles, out);
  });
}

}  // namespace divvy::simgpu
