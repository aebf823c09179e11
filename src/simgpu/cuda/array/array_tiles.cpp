#include "cuda/array/array_tiles.h"

#include <algorithm>

#include "cuda/array/array.h"
#include "cuda/vmm/vmm.h"

namespace divvy::simgpu {
namespace {

// The level that denotes the mip tail, and the whole of an array that is mapped later.
constexpr std::uint32_t kTail = UINT32_MAX;

bool isLayered(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
}

bool isSolid(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return shape.Depth > 1 && !isLayered(shape);
}

struct TileExtent {
  unsigned width, height, depth;
};

TileExtent tileOf(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  static constexpr TileExtent kFlat[] = {
      {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
  static constexpr TileExtent kSolid[] = {
      {64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
  std::size_t log = 0;
  for (std::size_t bytes = elementBytesOf(shape); bytes > 1; bytes /= 2) ++log;
  return isSolid(shape) ? kSolid[log] : kFlat[log];
}

bool holdsATile(const CUDA_ARRAY3D_DESCRIPTOR& level, const TileExtent& tile) {
  return level.Width >= tile.width && level.Height >= tile.height &&
         (tile.depth == 1 || level.Depth >= tile.depth);
}

bool tiles(std::uint64_t offset, std::uint64_t extent, std::uint64_t size, unsigned tile) {
  const std::uint64_t whole = roundTo(std::max<std::uint64_t>(size, 1), tile);
  return extent != 0 && offset % tile == 0 && extent % tile == 0 && offset <= whole &&
         extent <= whole - offset;
}

}  // namespace

unsigned TiledShape::layers() const {
  return isLayered(shape) ? static_cast<unsigned>(std::max<std::size_t>(1, shape.Depth)) : 1;
}

CUDA_ARRAY_SPARSE_PROPERTIES sparsePropertiesOf(const TiledShape& shape) {
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  const TileExtent tile = tileOf(shape.shape);
  properties.tileExtent = {tile.width, tile.height, tile.depth};
  const auto tail =
      std::find_if(shape.levels.begin(), shape.levels.end(),
                   [&](const CUDA_ARRAY3D_DESCRIPTOR& level) { return !holdsATile(level, tile); });
  if (tail == shape.levels.end()) return properties;
  const auto first = static_cast<std::size_t>(tail - shape.levels.begin());
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < shape.levels.size(); ++i) bytes += shape.level_bytes[i];
  // An array without levels is only a tail; a layered mipmap has a tail for each layer.
  const bool single = shape.levels.size() == 1;
  if (single) properties.flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
  properties.miptailFirstLevel = static_cast<unsigned>(first);
  properties.miptailSize = roundTo(single ? bytes : bytes / shape.layers(), kTileBytes);
  return properties;
}

TileMap::TileMap(TiledShape shape)
    : shape_(std::move(shape)), properties_(sparsePropertiesOf(shape_)) {}

TileMap::~TileMap() {
  std::vector<std::shared_ptr<Physical>> all;
  for (auto& [tile, pool] : tiles_) all.push_back(std::move(pool));
  releasePhysical(all);
}

CUresult TileMap::select(const CUarrayMapInfo& info, std::vector<Tile>* out) const {
  const CUDA_ARRAY3D_DESCRIPTOR& shape = shape_.shape;
  if (shape.Height == 0 || (shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape_.isDeferred()) {
    for (std::uint32_t i = 0; i < shape_.bytes / kTileBytes; ++i)
      out->push_back({kTail, 0, 0, 0, i});
    return CUDA_SUCCESS;
  }
  return info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL ? selectTail(info, out)
                                                                          : selectLevel(info, out);
}

CUresult TileMap::selectLevel(const CUarrayMapInfo& info, std::vector<Tile>* out) const {
  const auto& part = info.subresource.sparseLevel;
  if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL ||
      part.level >= shape_.levels.size() || part.layer >= shape_.layers() ||
      (properties_.miptailSize != 0 && part.level >= properties_.miptailFirstLevel)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUDA_ARRAY3D_DESCRIPTOR& level = shape_.levels[part.level];
  const auto& tile = properties_.tileExtent;
  const std::size_t depth = isSolid(shape_.shape) ? level.Depth : 1;
  if (!tiles(part.offsetX, part.extentWidth, level.Width, tile.width) ||
      !tiles(part.offsetY, part.extentHeight, level.Height, tile.height) ||
      !tiles(part.offsetZ, part.extentDepth, depth, tile.depth)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned z = 0; z < part.extentDepth; z += tile.depth) {
    for (unsigned y = 0; y < part.extentHeight; y += tile.height) {
      for (unsigned x = 0; x < part.extentWidth; x += tile.width) {
        out->push_back({part.level, part.layer, (part.offsetZ + z) / tile.depth,
                        (part.offsetY + y) / tile.height, (part.offsetX + x) / tile.width});
      }
    }
  }
  return CUDA_SUCCESS;
}

CUresult TileMap::selectTail(const CUarrayMapInfo& info, std::vector<Tile>* out) const {
  const auto& part = info.subresource.miptail;
  const bool single = (properties_.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL) != 0;
  if (part.layer >= (single ? 1 : shape_.layers()) || part.size == 0 ||
      part.offset % kTileBytes != 0 || part.size % kTileBytes != 0 ||
      part.offset > properties_.miptailSize || part.size > properties_.miptailSize - part.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::uint64_t at = part.offset; at < part.offset + part.size; at += kTileBytes) {
    out->push_back({kTail, part.layer, 0, 0, static_cast<std::uint32_t>(at / kTileBytes)});
  }
  return CUDA_SUCCESS;
}

void TileMap::back(const std::vector<Tile>& tiles, const std::shared_ptr<Physical>& pool,
                   std::vector<std::shared_ptr<Physical>>* retired) {
  const std::lock_guard guard(mutex_);
  for (const Tile& tile : tiles) {
    const auto found = tiles_.find(tile);
    if (found != tiles_.end()) {
      retired->push_back(std::move(found->second));
      tiles_.erase(found);
    }
    if (pool != nullptr) tiles_.emplace(tile, pool);
  }
}

bool TileMap::covers(unsigned level, const std::array<std::size_t, 3>& at,
                     const std::array<std::size_t, 3>& extent) const {
  const std::lock_guard guard(mutex_);
  if (shape_.isDeferred()) return !tiles_.empty();
  const bool layered = isLayered(shape_.shape);
  const bool single = (properties_.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL) != 0;
  if (properties_.miptailSize != 0 && level >= properties_.miptailFirstLevel) {
    for (std::size_t z = at[2]; z < at[2] + extent[2]; ++z) {
      const auto layer = static_cast<std::uint32_t>(layered && !single ? z : 0);
      for (std::uint32_t i = 0; i < properties_.miptailSize / kTileBytes; ++i) {
        if (tiles_.count({kTail, layer, 0, 0, i}) == 0) return false;
      }
    }
    return true;
  }
  const auto& tile = properties_.tileExtent;
  const std::size_t units[] = {tile.width, tile.height, layered ? 1 : tile.depth};
  std::size_t first[3];
  std::size_t last[3];
  for (int i = 0; i < 3; ++i) {
    if (extent[i] == 0) return true;
    first[i] = at[i] / units[i];
    last[i] = (at[i] + extent[i] - 1) / units[i];
  }
  for (std::size_t z = first[2]; z <= last[2]; ++z) {
    for (std::size_t y = first[1]; y <= last[1]; ++y) {
      for (std::size_t x = first[0]; x <= last[0]; ++x) {
        const Tile wanted{level, static_cast<std::uint32_t>(layered ? z : 0),
                          static_cast<std::uint32_t>(layered ? 0 : z),
                          static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)};
        if (tiles_.count(wanted) == 0) return false;
      }
    }
  }
  return true;
}

void releasePhysical(const std::vector<std::shared_ptr<Physical>>& retired) {
  if (retired.empty()) return;
  const std::unique_lock guard(MemoryTable::get().mutex);
  for (const auto& pool : retired) PhysicalTable::get().unmapped(pool);
}

}  // namespace divvy::simgpu
