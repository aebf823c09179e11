// Texture and surface objects: the descriptions that they were made from. Kernels here do not
// sample.
#include <map>
#include <mutex>

#include "cuda/array/array.h"
#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

struct TextureObject {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  CUDA_RESOURCE_VIEW_DESC view;
  bool has_view;
};

struct TextureObjects {
  std::mutex mutex;
  std::map<CUtexObject, TextureObject> textures;
  std::map<CUsurfObject, CUDA_RESOURCE_DESC> surfaces;
  unsigned long long next = 1;
};

TextureObjects& objects() {
  static TextureObjects* const all = new TextureObjects;
  return *all;
}

// Whether the memory or array of a description exists.
bool exists(const CUDA_RESOURCE_DESC& resource) {
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return findArray(resource.res.array.hArray) != nullptr;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return findMipmap(resource.res.mipmap.hMipmappedArray) != nullptr;
    case CU_RESOURCE_TYPE_LINEAR:
      return describePointer(resource.res.linear.devPtr).kind != PointerKind::kUnknown;
    case CU_RESOURCE_TYPE_PITCH2D:
      return describePointer(resource.res.pitch2D.devPtr).kind != PointerKind::kUnknown;
    default:
      return false;
  }
}

// Runs `body` on a live object of a map, under the mutex.
template <typename Map, typename Body>
CUresult onObject(Cu id, Map TextureObjects::*map, unsigned long long handle, Body&& body) {
  return withContext(id, [&](Context&) -> CUresult {
    const std::lock_guard guard(objects().mutex);
    const auto found = (objects().*map).find(handle);
    return found == (objects().*map).end() ? CUDA_ERROR_INVALID_VALUE : body(found);
  });
}

template <typename Value>
CUresult copyOut(const Value& value, Value* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuTexObjectCreate)
(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
 const CUDA_RESOURCE_VIEW_DESC* view) {
  return withContext(Cu::cuTexObjectCreate, [&](Context&) -> CUresult {
    if (out == nullptr || resource == nullptr || texture == nullptr || !exists(*resource)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard guard(objects().mutex);
    *out = objects().next++;
    objects().textures[*out] = {
        *resource, *texture, view == nullptr ? CUDA_RESOURCE_VIEW_DESC{} : *view, view != nullptr};
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuTexObjectDestroy)(CUtexObject handle) {
  return onObject(Cu::cuTexObjectDestroy, &TextureObjects::textures, handle, [](auto found) {
    objects().textures.erase(found);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuTexObjectGetResourceDesc)(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
  return onObject(Cu::cuTexObjectGetResourceDesc, &TextureObjects::textures, handle,
                  [&](auto found) { return copyOut(found->second.resource, out); });
}
SIMGPU_IMPL(cuTexObjectGetTextureDesc)(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
  return onObject(Cu::cuTexObjectGetTextureDesc, &TextureObjects::textures, handle,
                  [&](auto found) { return copyOut(found->second.texture, out); });
}
SIMGPU_IMPL(cuTexObjectGetResourceViewDesc)(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
  return onObject(Cu::cuTexObjectGetResourceViewDesc, &TextureObjects::textures, handle,
                  [&](auto found) -> CUresult {
                    if (!found->second.has_view) return CUDA_ERROR_INVALID_VALUE;
                    return copyOut(found->second.view, out);
                  });
}
SIMGPU_IMPL(cuSurfObjectCreate)(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  return withContext(Cu::cuSurfObjectCreate, [&](Context&) -> CUresult {
    if (out == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY ||
        !exists(*resource)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard guard(objects().mutex);
    *out = objects().next++;
    objects().surfaces[*out] = *resource;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuSurfObjectDestroy)(CUsurfObject handle) {
  return onObject(Cu::cuSurfObjectDestroy, &TextureObjects::surfaces, handle, [](auto found) {
    objects().surfaces.erase(found);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuSurfObjectGetResourceDesc)(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
  return onObject(Cu::cuSurfObjectGetResourceDesc, &TextureObjects::surfaces, handle,
                  [&](auto found) { return copyOut(found->second, out); });
}

}  // namespace divvy::simgpu
