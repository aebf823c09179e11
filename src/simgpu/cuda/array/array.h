// CUDA arrays and mipmapped arrays: opaque on the real card, rows at a pitch here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/array/array_tiles.h"
#include "cuda/context/context.h"
#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

// Memory of arrays is charged in units of this.
inline constexpr std::uint64_t kArrayUnit = 64 << 10;

// One level of an array. All sizes in bytes, but height and depth.
struct ArrayLayout {
  Device* device = nullptr;
  CUdeviceptr address = 0;  // of the first row
  std::size_t element = 0;
  std::size_t width = 0;
  std::size_t height = 0;  // rows, at least 1
  std::size_t depth = 0;   // planes or layers, at least 1
  std::size_t pitch = 0;   // from row to row
  std::size_t slice = 0;   // from plane to plane
};

// The target of a CUarray.
struct ArrayObject {
  CUDA_ARRAY3D_DESCRIPTOR shape;
  Context* owner;
  ArrayLayout layout;
  std::uint64_t bytes;             // charged, or what mapping it would take
  std::shared_ptr<TileMap> tiles;  // of arrays without memory of their own
  bool level_of_mipmap = false;
  unsigned level = 0;
};

// The target of a CUmipmappedArray.
struct MipmapObject {
  CUDA_ARRAY3D_DESCRIPTOR shape;
  Context* owner;
  std::uint64_t bytes;
  CUdeviceptr address;
  std::shared_ptr<TileMap> tiles;
  std::vector<std::unique_ptr<ArrayObject>> levels;
};

// Bytes of one element, all channels; 0 for formats that are not simulated.
std::size_t elementBytesOf(const CUDA_ARRAY3D_DESCRIPTOR& shape);

CUresult createArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape, CUarray* out);
CUresult createMipmap(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels,
                      CUmipmappedArray* out);
CUresult destroyArray(CUarray array);
CUresult destroyMipmap(CUmipmappedArray mipmap);

// nullptr for a handle that is not alive.
ArrayObject* findArray(CUarray array);
MipmapObject* findMipmap(CUmipmappedArray mipmap);
// Handles of a context that ends; its memory is freed with everything else it owns.
void dropArraysOf(const Context& context);

}  // namespace divvy::simgpu
