#include "cuda/array/array.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cuda/context/exec.h"

namespace divvy::simgpu {
namespace {

constexpr std::size_t kRowUnit = 64;  // as wide as a tile of the real layout
constexpr std::size_t kLevelUnit = 512;
constexpr std::size_t kMaxWidth = 131072;
constexpr std::size_t kMaxHeight = 65536;
constexpr std::size_t kMaxDepth = 16384;

struct ArrayHandles {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<ArrayObject>> arrays;
  std::map<const void*, std::unique_ptr<MipmapObject>> mipmaps;
};

ArrayHandles& handles() {
  static ArrayHandles* const all = new ArrayHandles;
  return *all;
}

// Bytes of one channel; 0 for formats that are not simulated (planar and block-compressed ones).
std::size_t channelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

CUresult checkShape(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  if (shape.Width == 0 || shape.Width > kMaxWidth || shape.Height > kMaxHeight ||
      shape.Depth > kMaxDepth) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape.NumChannels != 1 && shape.NumChannels != 2 && shape.NumChannels != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (channelBytes(shape.Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if (shape.Height == 0 && shape.Depth != 0 && !layered) return CUDA_ERROR_INVALID_VALUE;
  if ((shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    const bool faces = layered ? shape.Depth % 6 == 0 && shape.Depth != 0 : shape.Depth == 6;
    if (shape.Width != shape.Height || !faces) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// The shape of a level: halved at each level, except layers and faces.
CUDA_ARRAY3D_DESCRIPTOR levelShape(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level) {
  CUDA_ARRAY3D_DESCRIPTOR part = shape;
  const auto halve = [level](std::size_t n) {
    return n == 0 ? std::size_t{0} : std::max<std::size_t>(1, n >> level);
  };
  part.Width = halve(shape.Width);
  part.Height = halve(shape.Height);
  const bool layers = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  if (!layers) part.Depth = halve(shape.Depth);
  return part;
}

ArrayLayout layoutOf(const CUDA_ARRAY3D_DESCRIPTOR& shape, Device* device) {
  ArrayLayout layout;
  layout.device = device;
  layout.element = elementBytesOf(shape);
  layout.width = shape.Width * layout.element;
  layout.height = std::max<std::size_t>(1, shape.Height);
  layout.depth = std::max<std::size_t>(1, shape.Depth);
  layout.pitch = roundTo(layout.width, kRowUnit);
  layout.slice = layout.pitch * layout.height;
  return layout;
}

std::uint64_t levelBytes(const ArrayLayout& layout) {
  return roundTo(layout.slice * layout.depth, kLevelUnit);
}

bool withoutMemory(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return (shape.Flags & (CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_SPARSE)) != 0;
}

CUresult allocateBacking(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape,
                         std::uint64_t bytes, CUdeviceptr* address) {
  return allocateRegion({.device = &context.device(),
                         .owner = &context,
                         .charge = Charge::kArray,
                         .kind = RegionKind::kArray,
                         .requested = bytes,
                         .bytes = bytes,
                         .charged = !withoutMemory(shape)},
                        address);
}

std::shared_ptr<TileMap> tilesOf(TiledShape shape) {
  return withoutMemory(shape.shape) ? std::make_shared<TileMap>(std::move(shape)) : nullptr;
}

CUresult beforeCreate(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  if (const CUresult fine = checkShape(shape); fine != CUDA_SUCCESS) return fine;
  return exec::checkUnsafeCall(context);
}

}  // namespace

std::size_t elementBytesOf(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return channelBytes(shape.Format) * shape.NumChannels;
}

CUresult createArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape, CUarray* out) {
  if (const CUresult fine = beforeCreate(context, shape); fine != CUDA_SUCCESS) return fine;
  auto array = std::make_unique<ArrayObject>();
  array->shape = shape;
  array->owner = &context;
  array->layout = layoutOf(shape, &context.device());
  array->bytes = roundTo(levelBytes(array->layout), kArrayUnit);
  array->tiles = tilesOf({shape, {shape}, {array->bytes}, array->bytes});
  const CUresult result = allocateBacking(context, shape, array->bytes, &array->layout.address);
  if (result != CUDA_SUCCESS) return result;
  *out = reinterpret_cast<CUarray>(array.get());
  const std::lock_guard guard(handles().mutex);
  handles().arrays.emplace(array.get(), std::move(array));
  return CUDA_SUCCESS;
}

CUresult createMipmap(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels,
                      CUmipmappedArray* out) {
  if (const CUresult fine = beforeCreate(context, shape); fine != CUDA_SUCCESS) return fine;
  if (levels == 0) return CUDA_ERROR_INVALID_VALUE;
  std::size_t longest = std::max({shape.Width, shape.Height, std::size_t{1}});
  unsigned most = 1;
  while (longest > 1) longest /= 2, ++most;
  auto mipmap = std::make_unique<MipmapObject>();
  mipmap->shape = shape;
  mipmap->owner = &context;
  TiledShape tiled{.shape = shape, .levels = {}, .level_bytes = {}, .bytes = 0};
  std::uint64_t total = 0;
  for (unsigned level = 0; level < std::min(levels, most); ++level) {
    auto part = std::make_unique<ArrayObject>();
    part->shape = levelShape(shape, level);
    part->owner = &context;
    part->layout = layoutOf(part->shape, &context.device());
    part->layout.address = total;
    part->bytes = levelBytes(part->layout);
    part->level_of_mipmap = true;
    part->level = level;
    tiled.levels.push_back(part->shape);
    tiled.level_bytes.push_back(part->bytes);
    total += part->bytes;
    mipmap->levels.push_back(std::move(part));
  }
  mipmap->bytes = tiled.bytes = roundTo(total, kArrayUnit);
  mipmap->tiles = tilesOf(std::move(tiled));
  const CUresult result = allocateBacking(context, shape, mipmap->bytes, &mipmap->address);
  if (result != CUDA_SUCCESS) return result;
  for (const auto& level : mipmap->levels) {
    level->layout.address += mipmap->address;
    level->tiles = mipmap->tiles;
  }
  *out = reinterpret_cast<CUmipmappedArray>(mipmap.get());
  const std::lock_guard guard(handles().mutex);
  handles().mipmaps.emplace(mipmap.get(), std::move(mipmap));
  return CUDA_SUCCESS;
}

CUresult destroyArray(CUarray handle) {
  std::unique_ptr<ArrayObject> array;
  {
    const std::lock_guard guard(handles().mutex);
    const auto found = handles().arrays.find(handle);
    if (found == handles().arrays.end()) return CUDA_ERROR_INVALID_HANDLE;
    array = std::move(found->second);
    handles().arrays.erase(found);
  }
  const CUresult idle = exec::synchronizeDevice(*array->layout.device);
  freeRegion(array->layout.address);
  return idle;
}

CUresult destroyMipmap(CUmipmappedArray handle) {
  std::unique_ptr<MipmapObject> mipmap;
  {
    const std::lock_guard guard(handles().mutex);
    const auto found = handles().mipmaps.find(handle);
    if (found == handles().mipmaps.end()) return CUDA_ERROR_INVALID_HANDLE;
    mipmap = std::move(found->second);
    handles().mipmaps.erase(found);
  }
  const CUresult idle = exec::synchronizeDevice(*mipmap->levels.front()->layout.device);
  freeRegion(mipmap->address);
  return idle;
}

ArrayObject* findArray(CUarray handle) {
  const std::lock_guard guard(handles().mutex);
  const auto found = handles().arrays.find(handle);
  if (found != handles().arrays.end()) return found->second.get();
  for (const auto& [key, mipmap] : handles().mipmaps) {
    for (const auto& level : mipmap->levels) {
      if (static_cast<const void*>(level.get()) == handle) return level.get();
    }
  }
  return nullptr;
}

MipmapObject* findMipmap(CUmipmappedArray handle) {
  const std::lock_guard guard(handles().mutex);
  const auto found = handles().mipmaps.find(handle);
  return found == handles().mipmaps.end() ? nullptr : found->second.get();
}

namespace {

template <typename Table>
Table extractOwn(Table& table, const Context& context) {
  Table own;
  for (auto at = table.begin(); at != table.end();) {
    const auto entry = at++;
    if (entry->second->owner == &context) own.insert(table.extract(entry));
  }
  return own;
}

}  // namespace

void dropArraysOf(const Context& context) {
  std::unique_lock lock(handles().mutex);
  const auto arrays = extractOwn(handles().arrays, context);
  const auto mipmaps = extractOwn(handles().mipmaps, context);
  // Freed without the lock: tiles return their pools under MemoryTable::mutex, and a thread that
  // maps tiles looks up an array while it holds that mutex.
  lock.unlock();
}

}  // namespace divvy::simgpu
