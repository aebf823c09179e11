// cuMemMapArrayAsync. The tiles' memory changes with the call; their former memory is released in
// stream order.
#include "cuda/array/array.h"
#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"
#include "cuda/vmm/vmm.h"

namespace divvy::simgpu {
namespace {

// One checked entry.
struct MapChange {
  std::shared_ptr<TileMap> map;
  std::vector<TileMap::Tile> tiles;
  std::shared_ptr<Physical> pool;  // nullptr: unmap
};

CUresult findTiles(const CUarrayMapInfo& info, MapChange* out) {
  if (info.resourceType == CU_RESOURCE_TYPE_ARRAY) {
    const ArrayObject* array = findArray(info.resource.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (array->level_of_mipmap || array->tiles == nullptr) return CUDA_ERROR_INVALID_VALUE;
    out->map = array->tiles;
  } else if (info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    const MipmapObject* mipmap = findMipmap(info.resource.mipmap);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (mipmap->tiles == nullptr) return CUDA_ERROR_INVALID_VALUE;
    out->map = mipmap->tiles;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return out->map->select(info, &out->tiles);
}

// Under MemoryTable::mutex.
CUresult findPool(const CUarrayMapInfo& info, const Device& device, MapChange* out) {
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
    return info.memHandle.memHandle == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (info.memOperationType != CU_MEM_OPERATION_TYPE_MAP ||
      info.memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->pool = PhysicalTable::get().find(info.memHandle.memHandle);
  if (out->pool == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::uint64_t needs = out->tiles.size() * kTileBytes;
  const bool fits = info.offset % kTileBytes == 0 && info.offset <= out->pool->bytes &&
                    needs <= out->pool->bytes - info.offset;
  const bool tile_pool = (out->pool->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) != 0;
  return fits && tile_pool && out->pool->device == &device ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
}

CUresult check(const CUarrayMapInfo& info, const Device& device, MapChange* out) {
  const bool reserved = info.flags != 0 || info.reserved[0] != 0 || info.reserved[1] != 0;
  if (reserved || info.deviceBitMask != 1U << device.ordinal) return CUDA_ERROR_INVALID_VALUE;
  const CUresult found = findTiles(info, out);
  return found != CUDA_SUCCESS ? found : findPool(info, device, out);
}

// All of the entries or none.
CUresult mapArrays(Context& current, const CUarrayMapInfo* list, unsigned count,
                   StreamArgument stream) {
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  std::uint64_t identity = 0;
  bool capturing = false;
  CUresult result = exec::resolveStream(current, stream, &context, &identity);
  if (result == CUDA_SUCCESS) result = exec::streamIsCapturing(current, stream, &capturing);
  // Must not be captured: the attempt fails as any other unsupported operation.
  if (result == CUDA_SUCCESS && capturing) return exec::enqueueAction(current, stream, [] {});
  if (result != CUDA_SUCCESS) return result;
  std::vector<MapChange> changes(count);
  std::vector<std::shared_ptr<Physical>> retired;
  {
    const std::unique_lock guard(MemoryTable::get().mutex);
    for (unsigned i = 0; i < count; ++i) {
      result = check(list[i], context->device(), &changes[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    for (const MapChange& change : changes) {
      if (change.pool != nullptr) change.pool->mappings += change.tiles.size();
      change.map->back(change.tiles, change.pool, &retired);
    }
  }
  return exec::enqueueAction(current, stream, [retired] { releasePhysical(retired); });
}

}  // namespace

SIMGPU_IMPL(cuMemMapArrayAsync)(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  return withContext(Cu::cuMemMapArrayAsync, [&](Context& context) {
    return mapArrays(context, list, count, {stream, false});
  });
}
SIMGPU_IMPL(cuMemMapArrayAsync_ptsz)(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  return withContext(Cu::cuMemMapArrayAsync_ptsz, [&](Context& context) {
    return mapArrays(context, list, count, {stream, true});
  });
}

}  // namespace divvy::simgpu
