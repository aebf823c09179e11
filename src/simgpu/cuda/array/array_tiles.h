// The memory of arrays that have none of their own: tiles of 64 KiB. Each is backed by a piece of a
// tile pool that cuMemCreate made (CUDA Driver API, "Virtual Memory Management":
// cuMemMapArrayAsync). The card is charged for the pool, which lives while a tile needs it.
//
// Simplified: the bytes stay with the array, because the layout within a pool is opaque. So two
// arrays on one pool do not see each other's contents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/cuda_types.h"

namespace divvy::simgpu {

struct ArrayObject;
struct MipmapObject;
struct Physical;  // vmm.h

inline constexpr std::uint64_t kTileBytes = 64 << 10;

// The levels of an array or mipmapped array that is sparse or mapped later.
struct TiledShape {
  CUDA_ARRAY3D_DESCRIPTOR shape;  // of level 0
  std::vector<CUDA_ARRAY3D_DESCRIPTOR> levels;
  std::vector<std::uint64_t> level_bytes;  // of all layers
  std::uint64_t bytes;                     // of all levels

  bool isDeferred() const { return (shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0; }
  unsigned layers() const;  // 1 unless layered
};

// Tile extents are the standard block shapes of Vulkan's sparse images, which NVIDIA cards have.
// Levels smaller than a tile in any dimension are the mip tail.
CUDA_ARRAY_SPARSE_PROPERTIES sparsePropertiesOf(const TiledShape& shape);

// Any thread.
class TileMap {
 public:
  explicit TileMap(TiledShape shape);
  ~TileMap();  // gives all tiles back; MemoryTable::mutex must be free
  TileMap(const TileMap&) = delete;
  TileMap& operator=(const TileMap&) = delete;

  const TiledShape& shape() const { return shape_; }

  // Whether the entry names tiles of this array, and which; the order is that in the pool.
  struct Tile {
    std::uint32_t level, layer, z, y, x;
    auto operator<=>(const Tile&) const = default;
  };
  CUresult select(const CUarrayMapInfo& info, std::vector<Tile>* out) const;

  // Backs the tiles with the pool (nullptr: with nothing). Adds their former pools to `retired`,
  // still counted as mapped.
  void back(const std::vector<Tile>& tiles, const std::shared_ptr<Physical>& pool,
            std::vector<std::shared_ptr<Physical>>* retired);
  // Whether a box of a level has memory everywhere. In elements; z counts layers, too.
  bool covers(unsigned level, const std::array<std::size_t, 3>& at,
              const std::array<std::size_t, 3>& extent) const;

 private:
  CUresult selectLevel(const CUarrayMapInfo& info, std::vector<Tile>* out) const;
  CUresult selectTail(const CUarrayMapInfo& info, std::vector<Tile>* out) const;

  const TiledShape shape_;
  const CUDA_ARRAY_SPARSE_PROPERTIES properties_;
  mutable std::mutex mutex_;
  std::map<Tile, std::shared_ptr<Physical>> tiles_;
};

// Ends what the tiles counted as mapped. MemoryTable::mutex must be free.
void releasePhysical(const std::vector<std::shared_ptr<Physical>>& retired);

}  // namespace divvy::simgpu
